// The steps of the life of a sandbox in a pod, at each of which the worker may be killed.
export const crashSteps = [
  'the pod is created',
  'the pod runs',
  'the worker is attached',
  'the supervisor is greeted',
  'the sandbox is open',
  'a program runs',
  'its programs are ended',
  'it closes',
  'the pod is deleted',
] as const;

export type CrashStep = (typeof crashSteps)[number];
