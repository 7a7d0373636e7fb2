// How the fake agent was started: what it offers, and the ways in which it fails before anybody can speak to it.
import { parseArgs } from 'node:util';

export function readFlags(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      'never-initialize': { type: 'boolean', default: false },
      'crash-on-start': { type: 'boolean', default: false },
      'slow-start': { type: 'string', default: '0' },
      'no-load': { type: 'boolean', default: false },
      'no-resume': { type: 'boolean', default: false },
      'no-http-mcp': { type: 'boolean', default: false },
      'no-images': { type: 'boolean', default: false },
      protocol: { type: 'string', default: '1' },
      auth: { type: 'string' },
      modes: { type: 'string', default: '' },
      activity: { type: 'boolean', default: false },
    },
  });
  return {
    neverInitialize: values['never-initialize'],
    crashOnStart: values['crash-on-start'],
    slowStartMs: Number(values['slow-start']),
    load: !values['no-load'],
    resume: !values['no-resume'] && !values['no-load'],
    httpMcp: !values['no-http-mcp'],
    images: !values['no-images'],
    protocol: Number(values.protocol),
    auth: values.auth,
    /** Writes down when it lives and what it is given: see activity.ts. */
    activity: values.activity,
    modes: values.modes === '' ? [] : values.modes.split(','),
  };
}

export type Flags = ReturnType<typeof readFlags>;
