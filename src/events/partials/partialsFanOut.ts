// Sends unfinished texts to the subscribers of a log who want them.
import { block, type Channel, inOrder, type Subscriber, sendToEach } from '../channel.ts';
import type { PartialText } from '../decoder/openTexts.ts';
import type { Pace } from '../pace.ts';
import { Batch } from '../receiver.ts';
import { openChannelPartials } from './channelPartials.ts';

interface PartialsFanOutOptions {
  readonly pace: Pace;
  readonly isSubscribed: (subscriber: Subscriber) => boolean;
  /** Sends what is new in the log. */
  readonly pump: (channel: Channel) => Promise<void>;
  readonly onBackgroundError: (error: Error) => void;
  readonly count: (outcome: 'sent' | 'dropped', partials: number) => void;
}

export const wantsPartials = ({ receiver }: Subscriber) => receiver.receivePartials !== undefined;

export function createPartialsFanOut(options: PartialsFanOutOptions) {
  const { pace, isSubscribed, pump, onBackgroundError, count } = options;

  function sendPartialsTo(
    channel: Channel,
    partials: readonly PartialText[],
    isMeant: (subscriber: Subscriber) => boolean,
  ): Promise<void> | undefined {
    const meant = [...channel.subscribers].filter(isMeant);
    if (meant.length === 0) return;
    const shared = new Batch(partials);
    const chars = partials.reduce((sum, { text }) => sum + text.length, 0);
    return sendToEach(pace, meant, chars, (subscriber) => {
      if (!isMeant(subscriber)) return;
      subscriber.hasPartials = true;
      if (partials.length === 0) return;
      count('sent', partials.length);
      if (subscriber.receiver.receivePartials?.(shared) === false) block(subscriber);
    });
  }

  /** Only at the position of the shared read it is known which texts are in the log. */
  function lacksPartials(channel: Channel, one: Subscriber): boolean {
    return (
      wantsPartials(one) && one.live && !one.hasPartials && one.cursor === channel.cursor && isSubscribed(one)
    );
  }

  function areLacking(channel: Channel): boolean {
    return channel.subscribers.values().some((one) => lacksPartials(channel, one));
  }

  async function deliverPartials(channel: Channel, partials: readonly PartialText[]): Promise<void> {
    if (partials.length > 0) {
      // A slow subscriber gets the whole texts when it has caught up.
      const slow = channel.subscribers.values().filter((one) => wantsPartials(one) && one.blocked);
      count('dropped', partials.length * [...slow].length);
      await sendPartialsTo(channel, partials, (one) => one.hasPartials && isSubscribed(one));
    }
    await sendPartialsTo(channel, channel.texts?.list() ?? [], (one) => lacksPartials(channel, one));
  }

  /** Subscribes to the texts at the position of the shared read: every event that ends one of them is still to come. */
  function openPartials(channel: Channel): Promise<void> | undefined {
    channel.joining = false;
    if (!areLacking(channel)) return;
    channel.texts ??= openChannelPartials(channel.log, async (take, isNew) => {
      // What was recorded before a text is sent before it.
      if (isNew) await pump(channel).catch(onBackgroundError);
      await inOrder(channel, () => deliverPartials(channel, take())).catch(onBackgroundError);
    });
    return deliverPartials(channel, []);
  }

  /** Sends all unfinished texts to live subscribers that lack them: once for all that join at about the same time. */
  function join(channel: Channel): void {
    channel.texts?.sendSoon();
    if (channel.texts !== undefined || channel.joining) return;
    channel.joining = true;
    inOrder(channel, () => openPartials(channel)).catch(onBackgroundError);
  }

  return {
    join,
    /** Called after the shared read has moved, because subscribers may have waited for that. */
    joinLacking: (channel: Channel): void => {
      if (areLacking(channel)) join(channel);
    },
    /** Called when a subscriber has left. */
    closeUnused: (channel: Channel): void => {
      if (channel.texts === undefined || channel.subscribers.values().some(wantsPartials)) return;
      channel.texts.close();
      channel.texts = undefined;
    },
  };
}
