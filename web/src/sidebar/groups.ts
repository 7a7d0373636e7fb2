// Groups the conversations of the sidebar, and finds the next one to go to.
import type { ConversationInfo } from '../../../src/client/parley.ts';
import { needsUser, stateOf } from '../components/status.ts';
import type { Grouping } from '../layout/preferences.ts';

export interface Group {
  readonly key: string;
  readonly label: string;
  readonly conversations: readonly ConversationInfo[];
}

export interface GroupTexts {
  readonly pinned: string;
  readonly today: string;
  readonly yesterday: string;
  readonly lastWeek: string;
  readonly noRepository: string;
}

interface GroupOptions {
  readonly grouping: Grouping;
  readonly pinnedFirst: boolean;
  readonly texts: GroupTexts;
  readonly language: string;
  readonly now: Date;
}

const weekDays = 7;

/** Days between two dates of the calendar, however long these days are. */
function daysBetween(earlier: Date, later: Date): number {
  const day = (date: Date) => Date.UTC(date.getFullYear(), date.getMonth(), date.getDate());
  return Math.round((day(later) - day(earlier)) / 86_400_000);
}

function dayLabel(created: string, { texts, language, now }: GroupOptions): string {
  const date = new Date(created);
  const days = daysBetween(date, now);
  if (Number.isNaN(days)) return '';
  if (days <= 0) return texts.today;
  if (days === 1) return texts.yesterday;
  if (days < weekDays) return texts.lastWeek;
  return new Intl.DateTimeFormat(language, { month: 'long', year: 'numeric' }).format(date);
}

function labelOf(info: ConversationInfo, options: GroupOptions): string {
  if (options.pinnedFirst && info.pinned) return options.texts.pinned;
  if (options.grouping === 'day') return dayLabel(info.created_at, options);
  return info.selected_repository ?? options.texts.noRepository;
}

/** Each conversation once, the newest first, from lists that may overlap. */
export function merge(lists: readonly (readonly ConversationInfo[])[]): ConversationInfo[] {
  const all = new Map(lists.flat().map((info) => [info.conversation_id, info]));
  return [...all.values()].sort(
    (a, b) =>
      Date.parse(b.created_at) - Date.parse(a.created_at) || (a.conversation_id < b.conversation_id ? 1 : -1),
  );
}

/** Groups are in the order of their newest conversation, after the pinned ones. */
export function groupConversations(all: readonly ConversationInfo[], options: GroupOptions): Group[] {
  const groups = new Map<string, ConversationInfo[]>();
  if (options.pinnedFirst) groups.set(options.texts.pinned, []);
  for (const info of all) {
    const label = labelOf(info, options);
    const group = groups.get(label);
    if (group === undefined) groups.set(label, [info]);
    else group.push(info);
  }
  return [...groups].flatMap(([label, conversations]) =>
    conversations.length === 0 ? [] : [{ key: label, label, conversations }],
  );
}

/** The conversation that is `step` away from the current one, around the ends. */
export function neighbour(
  ids: readonly string[],
  current: string | undefined,
  step: 1 | -1,
): string | undefined {
  const at = current === undefined ? -1 : ids.indexOf(current);
  if (at === -1) return step === 1 ? ids[0] : ids.at(-1);
  return ids[(at + step + ids.length) % ids.length];
}

/** The next conversation that needs the user, other than the current one; those that need approval come first. */
export function nextForUser(
  all: readonly ConversationInfo[],
  current: string | undefined,
): string | undefined {
  const at = all.findIndex(({ conversation_id }) => conversation_id === current);
  const others = [...all.slice(at + 1), ...all.slice(0, Math.max(0, at))].filter(needsUser);
  return (others.find((info) => stateOf(info) === 'needsApproval') ?? others[0])?.conversation_id;
}
