// What an agent told of a call that it asks approval for, beside that which its action shows: as lines for people.
import type { ParleyEvent } from './types.ts';

function indent(text: string): string {
  return text.replaceAll(/^/gm, '  ');
}

function line(name: string, value: unknown): string {
  const label = /^[\w.-]+$/.test(name) ? name : JSON.stringify(name);
  if (typeof value !== 'string') return `${label}: ${JSON.stringify(value)}`;
  return value.includes('\n') ? `${label}:\n${indent(value)}` : `${label}: ${value}`;
}

function linesOf(name: string, value: unknown): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [line(name, value)];
  return Object.entries(value).map(([member, inner]) => line(`${name}.${member}`, inner));
}

/** Empty where the action shows all. Everything in it must be shown to whoever is asked. */
export function approvalText({ args }: Pick<ParleyEvent, 'args'>): string {
  const request: unknown = (args as Readonly<Record<string, unknown>> | undefined)?.['request'];
  if (typeof request !== 'object' || request === null) return '';
  return Object.entries(request)
    .flatMap(([name, value]) => linesOf(name, value))
    .join('\n');
}
