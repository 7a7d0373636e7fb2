import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NewEvent } from '../events/vocabulary/vocabulary.ts';
import { createMasking } from './masking.ts';

const mask = '**********';

describe('masking', () => {
  it('masks values and what starts with one, and leaves what is too short to be a secret', () => {
    const { text } = createMasking(['abcd', 'abcdefgh', 'xyz', '']);
    assert.equal(text('abcd-abcdefgh-abc-xyz'), `${mask}-${mask}-abc-xyz`);
  });

  it('masks values literally, whatever characters they have', () => {
    const { text } = createMasking(['a.c$&(d', '$1\\n[x]']);
    assert.equal(text('a.c$&(d abc$&(d $1\\n[x]'), `${mask} abc$&(d ${mask}`);
  });

  it('masks each line of a value, however it is indented or ended', () => {
    const { text } = createMasking(['first line\r\n    second line\r\n}\r\n']);
    assert.equal(text('> second line\n}\nfirst line\n'), `> ${mask}\n}\n${mask}\n`);
  });

  it('masks values as JSON shows them, and what is left of one that was cut off', () => {
    const { text, stream } = createMasking(['pa"ss\\word-with\ttab', 'supersecretvalue-ABCDEFGH-0123456789']);
    assert.equal(text(JSON.stringify({ key: 'pa"ss\\word-with\ttab' })), `{"key":"${mask}"}`);
    assert.equal(
      text('… ersecretvalue-ABCDEFGH-0123456789'),
      '… ersecretvalue-ABCDEFGH-0123456789'.replace(/er.*/, mask),
    );
    assert.equal(text('token=supersecretvalue-ABCDEFGH\n[… left out'), `token=${mask}\n[… left out`);
    const shown = stream();
    assert.equal(
      shown.add('token=supersecretvalue') + shown.add('-ABC\n[…') + shown.end(),
      `token=${mask}\n[…`,
    );
  });

  it('masks values of any size', () => {
    const secrets = Array.from({ length: 100 }, (_, i) => String(i).padEnd(64_000, '.'));
    const { text } = createMasking(secrets);
    assert.equal(text(`it is ${secrets[7]}!`), `it is ${mask}!`);
  });

  it('leaves our own values where we write them, and nowhere else', () => {
    const { event } = createMasking(['message', 'stopped', 'agent']);
    assert.deepEqual(
      event({
        source: 'agent',
        message: 'message',
        action: 'message',
        args: {
          agent_state: 'stopped',
          arguments: { source: 'agent', agent_state: 'stopped', action: 'message' },
        },
      } as unknown as NewEvent),
      {
        source: 'agent',
        message: mask,
        action: 'message',
        args: {
          agent_state: 'stopped',
          arguments: { source: mask, [`${mask}_state`]: mask, action: mask },
        },
      },
    );
  });

  it('masks values that are added later', () => {
    const masking = createMasking([]);
    const event = {
      source: 'agent',
      message: 'the token',
      args: { arguments: { 'the token': ['the token'] } },
    } as unknown as NewEvent;
    assert.equal(masking.event(event), event);
    // What is too short to be a secret stays, whenever it comes.
    for (const short of ['', 't', 'tok']) masking.hide(short);
    assert.equal(masking.text('a token'), 'a token');
    masking.hide('the token');
    assert.deepEqual(masking.event(event), {
      source: 'agent',
      message: mask,
      args: { arguments: { [mask]: [mask] } },
    });
  });
});
