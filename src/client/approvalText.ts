// Formats the details of an approval request that the action itself does not show, so that the user sees all of it.
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
  return Object.entries(value).map(([field, inner]) => line(`${name}.${field}`, inner));
}

/** Returns lines that must be shown in full next to the action; empty if the action shows everything. */
export function approvalText(event: ParleyEvent): string {
  const { request } = ('args' in event ? event.args : {}) as { readonly request?: unknown };
  if (typeof request !== 'object' || request === null) return '';
  return Object.entries(request)
    .flatMap(([name, value]) => linesOf(name, value))
    .join('\n');
}
