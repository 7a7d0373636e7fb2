// What appears at an item under the pointer or focus: its time, which is a link to it, and a button that copies it.
import { memo } from 'react';
import { useLocale } from '../../texts/texts.tsx';
import { clockText, fullText } from '../../texts/time.ts';
import { CopyButton } from '../content/CopyButton.tsx';
import type { Item } from '../items.ts';
import { eventHref } from './eventLinks.ts';

type Copied = { readonly label: 'copyMessage' | 'copyOutput' | 'copyDiff'; readonly text: string };

function copiedOf(item: Item): Copied | undefined {
  switch (item.kind) {
    case 'message':
    case 'thought':
      return { label: 'copyMessage', text: item.text };
    case 'call': {
      const { diff, output } = item.call;
      if (diff !== '') return { label: 'copyDiff', text: diff };
      return output.trim() === '' ? undefined : { label: 'copyOutput', text: output };
    }
    case 'plan':
      return undefined;
    default:
      return { label: 'copyMessage', text: item.text };
  }
}

export const ItemToolbar = memo(function ItemToolbar({ item }: { readonly item: Item }) {
  const { texts, language } = useLocale();
  const { timeline } = texts;
  // What is still being written has no event yet.
  if (item.id < 0) return null;
  const copied = copiedOf(item);
  const time = clockText(item.at, language);
  return (
    <div className="item-toolbar">
      <a
        href={eventHref(item.id)}
        title={fullText(item.at, language)}
        aria-label={time === '' ? timeline.linkWithoutTime : timeline.link(time)}
      >
        {time === '' ? '#' : time}
      </a>
      {copied === undefined ? null : <CopyButton label={timeline[copied.label]} text={() => copied.text} />}
    </div>
  );
});
