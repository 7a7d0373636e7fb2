// Answers requests that no route takes: OPTIONS, unknown paths, and methods that a path does not support.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';

export interface Unrouted {
  /** The error for the request: 404, or 405 if the path takes other methods. */
  refusal(request: FastifyRequest): AppError;
  /** Answers the request if it is OPTIONS for a known path; otherwise calls back with the error. */
  answer(request: FastifyRequest, reply: FastifyReply, refuse: (error: AppError) => void): void;
}

export function createUnrouted(methodsOf: (path: string) => readonly string[]): Unrouted {
  function allowedBy(request: FastifyRequest): string {
    return methodsOf(request.url.split('?', 1)[0] ?? '').join(', ');
  }

  function refusal(request: FastifyRequest): AppError {
    const allow = allowedBy(request);
    if (allow === '') return new AppError('not_found', 'This path does not exist; see GET /docs.');
    return new AppError('method_not_allowed', `This path only supports ${allow}.`, { headers: { allow } });
  }

  return {
    refusal,
    answer: (request, reply, refuse) => {
      const allow = request.method === 'OPTIONS' ? allowedBy(request) : '';
      if (allow === '') refuse(refusal(request));
      else reply.code(204).header('allow', allow).send();
    },
  };
}
