import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Call, Item } from '../items.ts';
import { createRows, indexAfter, indexOfEvent, type Row, type RowOptions } from './rows.ts';

const common = (id: number) => ({ id, at: undefined, replayed: false });

function call(id: number, part: Partial<Call> = {}): Item {
  return {
    ...common(id),
    kind: 'call',
    endId: id + 1,
    call: {
      tool: 'run',
      subject: 'ls',
      title: '',
      operation: '',
      input: '',
      diff: '',
      approvalDetails: '',
      outcome: 'completed',
      since: undefined,
      output: '',
      exitCode: 0,
      createsFile: false,
      approval: undefined,
      ...part,
    },
  };
}

function message(id: number): Item {
  return { ...common(id), kind: 'message', from: 'agent', text: '', images: [], files: [], isQueued: false };
}

const options: RowOptions = { openGroups: new Set(), away: undefined };
const running = { outcome: undefined };

function shortly(rows: readonly Row[]): string {
  return rows
    .map((row) => (row.kind === 'item' ? `${row.isInGroup ? '>' : ''}${row.item.id}` : row.kind))
    .join(' ');
}

const shown = (items: readonly Item[], given: Partial<RowOptions> = {}) =>
  shortly(createRows()(items, { ...options, ...given }));

describe('the rows of a timeline', () => {
  it('fold runs of finished calls, but not a single one, the last one, or one that runs', () => {
    assert.equal(shown([message(0), call(1), call(3), message(5)]), '0 group 5');
    assert.equal(shown([message(0), call(1), message(5)]), '0 1 5');
    assert.equal(shown([call(0), call(2), call(4)]), 'group 4');
    assert.equal(shown([call(0), call(2), call(4, running), call(6), message(8)]), 'group 4 6 8');
  });

  it('show the calls of an open group', () => {
    const openGroups = new Set([1]);
    assert.equal(shown([message(0), call(1), call(3), message(5)], { openGroups }), '0 group >1 >3 5');
  });

  it('summarize a group: distinct files, lines, and what failed', () => {
    const edit = (id: number, subject: string) =>
      call(id, {
        tool: 'edit',
        subject,
        diff: '--- a\n+++ a\n@@ -1 +1,2 @@\n-x\n+y\n+z',
        exitCode: undefined,
      });
    const items = [edit(0, 'a'), edit(2, 'a'), edit(4, 'b'), call(6, { exitCode: 1 }), message(8)];
    const [group] = createRows()(items, options);
    assert.ok(group?.kind === 'group');
    const { changedFiles, commands, failed, addedLines, removedLines } = group.summary;
    assert.deepEqual([changedFiles, commands, failed, addedLines, removedLines], [2, 1, 1, 6, 3]);
  });

  it('have a divider before what the user has not seen, which no group crosses', () => {
    const items = [call(0), call(2), call(4), call(6), message(8), message(9)];
    const rows = createRows()(items, { ...options, away: { from: 3, to: 8 } });
    assert.equal(shortly(rows), 'group away group 8 9');
    const divider = rows.find(({ kind }) => kind === 'away');
    assert.ok(divider?.kind === 'away');
    assert.deepEqual([divider.summary.commands, divider.summary.messages], [2, 1]);
    assert.equal(shown(items, { away: { from: 9, to: 9 } }), 'group 8 9');
    assert.equal(shown(items, { away: { from: -1, to: 9 } }), 'group 8 9');
  });

  it('are the same whether they are computed at once or while the timeline changes', () => {
    const away = { from: 40, to: 90 };
    const incremental = createRows();
    const items: Item[] = [];
    let seed = 1;
    const random = (below: number) => {
      seed = (seed * 16_807) % 2_147_483_647;
      return seed % below;
    };
    for (let step = 0; step < 400; step++) {
      const open = items.findIndex((item) => item.kind === 'call' && item.call.outcome === undefined);
      if (open >= 0 && random(2) === 0) items[open] = call(items[open]?.id ?? 0);
      else {
        const id = (items.at(-1)?.id ?? -2) + 2;
        items.push([message(id), call(id), call(id), call(id, running)][random(4)] as Item);
      }
      const given = { openGroups: options.openGroups, away };
      assert.deepEqual(incremental(items.slice(), given), createRows()(items, given), `step ${step}`);
    }
  });

  it('are found by each event of an item', () => {
    const items = [message(0), call(3), call(7, { outcome: undefined }), message(9)];
    assert.equal(indexAfter(items, 3), 2);
    assert.deepEqual(
      [0, 2, 3, 4, 5, 7, 100].map((id) => indexOfEvent(items, id)),
      [0, 0, 1, 1, 1, 2, 3],
    );
    assert.equal(indexOfEvent([call(3)], 1), undefined);
  });
});
