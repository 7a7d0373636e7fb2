import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Risk } from './callEvents.ts';
import { canAllowOnce, chooseAnswer, decide, riskOf, toConfirmation } from './permissions.ts';

const everyRisk: readonly Risk[] = ['low', 'medium', 'high'];

describe('the risk of a call', () => {
  it('depends on its kind, and is high if the kind is unknown', () => {
    const kinds = [
      'read',
      'search',
      'think',
      'edit',
      'execute',
      'delete',
      'move',
      'fetch',
      'other',
      'constructor',
    ];
    assert.deepEqual(
      kinds.map((kind) => riskOf(kind)),
      ['low', 'low', 'low', 'medium', 'high', 'high', 'high', 'high', 'high', 'high'],
    );
    assert.deepEqual([riskOf({}), riskOf(null), riskOf(undefined)], ['high', 'high', 'high']);
  });
});

describe('the decision about a call', () => {
  const table = [
    { forced: false, confirmationMode: false, securityAnalyzer: null, asks: [] },
    { forced: false, confirmationMode: false, securityAnalyzer: 'llm', asks: [] },
    { forced: false, confirmationMode: true, securityAnalyzer: null, asks: ['low', 'medium', 'high'] },
    { forced: false, confirmationMode: true, securityAnalyzer: '', asks: ['low', 'medium', 'high'] },
    { forced: false, confirmationMode: true, securityAnalyzer: 'llm', asks: ['high'] },
    { forced: true, confirmationMode: false, securityAnalyzer: null, asks: ['medium', 'high'] },
    { forced: true, confirmationMode: true, securityAnalyzer: 'llm', asks: ['medium', 'high'] },
    { forced: true, confirmationMode: true, securityAnalyzer: null, asks: ['low', 'medium', 'high'] },
  ] as const;
  for (const { asks, ...policy } of table)
    it(`requires approval for ${asks.join(', ') || 'nothing'} with ${JSON.stringify(policy)}`, () => {
      assert.deepEqual(
        everyRisk.filter((risk) => decide(policy, risk) === 'ask'),
        asks,
      );
    });

  it('is shown in the log', () => {
    assert.deepEqual(toConfirmation('ask', 'high'), { state: 'awaiting_confirmation', risk: 'high' });
    assert.deepEqual(toConfirmation('allow', 'low'), { state: 'confirmed', risk: 'low' });
  });
});

describe('the answer to an agent', () => {
  const option = (kind: string) => ({ optionId: `id-${kind}`, name: kind, kind });
  const every = ['reject_always', 'allow_always', 'allow_once', 'reject_once'].map(option);

  it('allows once if that is offered', () => {
    assert.deepEqual(chooseAnswer({ options: every }, 'allow'), { optionId: 'id-allow_once' });
    assert.deepEqual(chooseAnswer({ options: every }, 'reject'), { optionId: 'id-reject_once' });
  });

  it('never allows permanently what the user allows once, whatever the option is called', () => {
    const options = [
      { optionId: 'a', name: 'Allow once', kind: 'allow_always' },
      { optionId: 'b', name: 'Allow', kind: 'allow' },
    ];
    assert.equal(chooseAnswer({ options }, 'allow'), 'cancelled');
    assert.equal(canAllowOnce({ options }), false);
    assert.equal(canAllowOnce({ options: every }), true);
  });

  it('uses an offered option, and never the opposite', () => {
    assert.deepEqual(chooseAnswer({ options: [option('allow_once')] }, 'allow_always'), {
      optionId: 'id-allow_once',
    });
    assert.deepEqual(chooseAnswer({ options: [option('allow_always')] }, 'allow_by_settings'), {
      optionId: 'id-allow_always',
    });
    assert.equal(chooseAnswer({ options: [option('allow_once')] }, 'reject'), 'cancelled');
    assert.equal(chooseAnswer({ options: [] }, 'allow'), 'cancelled');
  });
});
