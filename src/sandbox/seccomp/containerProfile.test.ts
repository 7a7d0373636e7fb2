// test/docker/image.test.ts uses the profile with a real engine.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { createContainerProfile } from './containerProfile.ts';

describe('the seccomp profile for containers', () => {
  it('is the one in deploy/seccomp.json', () => {
    const file = new URL('../../../deploy/seccomp.json', import.meta.url);
    assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), createContainerProfile());
  });

  it('allows what bubblewrap needs, and refuses other ways into the kernel', () => {
    const [refused] = (createContainerProfile() as { syscalls: { names: string[] }[] }).syscalls;
    const isRefused = (name: string) => refused?.names.includes(name);
    assert.deepEqual(['mount', 'umount2', 'pivot_root', 'unshare'].filter(isRefused), []);
    const others = ['bpf', 'ptrace', 'keyctl', 'init_module', 'setns', 'io_uring_setup'];
    assert.deepEqual(others.filter(isRefused), others);
  });
});
