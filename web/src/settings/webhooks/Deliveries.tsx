// The pending and failed deliveries of a webhook, and the buttons that redeliver them.
import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import type { DeliveryRecord, DeliveryState } from '../../../../src/client/parley.ts';
import { BusyButton } from '../../components/BusyButton.tsx';
import { ErrorCallout, Loading } from '../../components/Callout.tsx';
import { SelectField } from '../../components/fields.tsx';
import { useParley } from '../../session/session.tsx';
import { useSettingsTexts } from '../../texts/settings/texts.ts';
import { useLocale } from '../../texts/texts.tsx';
import { agoText, fullText } from '../../texts/time.ts';
import { EntryButton } from '../entries/EntryList.tsx';

const pageSize = 20;
export const webhooksKey = ['webhooks'];
type StateFilter = DeliveryState | 'all';

function useDeliveries(webhook: string, filter: StateFilter) {
  const parley = useParley();
  return useInfiniteQuery({
    queryKey: [...webhooksKey, webhook, filter],
    queryFn: ({ pageParam, signal }) =>
      parley.webhooks.deliveries(
        webhook,
        {
          limit: pageSize,
          ...(filter === 'all' ? {} : { state: filter }),
          ...(pageParam === null ? {} : { page_id: pageParam }),
        },
        { signal },
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_page_id,
  });
}

interface DeliveryProps {
  readonly record: DeliveryRecord;
  readonly busy: boolean;
  readonly onRedeliver: () => void;
}

function Delivery({ record, busy, onRedeliver }: DeliveryProps) {
  const { webhooks: texts } = useSettingsTexts();
  const { language, texts: words } = useLocale();
  const { type, state, attempts, next_attempt_at, last_error, last_status, conversation_id } = record;
  const facts = [
    agoText(record.created_at, language, words.shell.now),
    texts.attempts(attempts),
    next_attempt_at === null ? null : texts.next(fullText(next_attempt_at, language)),
    last_status === null ? null : `HTTP ${last_status}`,
  ].filter((fact) => fact !== null);
  return (
    <li>
      <div className="entry-head">
        <div className="entry-name">
          <p>
            <code>{type}</code>{' '}
            <span className={state === 'failed' ? 'badge failed' : 'badge waiting'}>
              {texts.states[state]}
            </span>
          </p>
          <p className="muted facts">
            {facts.join(' · ')} ·{' '}
            <Link href={`/conversations/${encodeURIComponent(conversation_id)}`}>{texts.conversation}</Link>
          </p>
        </div>
        {state === 'failed' ? (
          <div className="row">
            <EntryButton label={texts.redeliver} entryName={record.id} busy={busy} onClick={onRedeliver} />
          </div>
        ) : null}
      </div>
      {last_error === null ? null : <p className="facts">{last_error}</p>}
    </li>
  );
}

export function Deliveries({ webhook, failed }: { readonly webhook: string; readonly failed: number }) {
  const { webhooks: texts } = useSettingsTexts();
  const { texts: words } = useLocale();
  const parley = useParley();
  const queries = useQueryClient();
  const [filter, setFilter] = useState<StateFilter>('all');
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useDeliveries(
    webhook,
    filter,
  );
  const redelivery = useMutation({
    mutationFn: (delivery: string | undefined) => parley.webhooks.redeliver(webhook, delivery),
    onSettled: () => queries.invalidateQueries({ queryKey: webhooksKey }),
  });
  const records = data?.pages.flatMap((page) => page.deliveries) ?? [];
  return (
    <div className="deliveries">
      <SelectField
        label={texts.status}
        value={filter}
        onChange={(chosen) => setFilter(chosen as StateFilter)}
        options={(['all', 'waiting', 'failed'] as const).map((value) => ({
          value,
          label: texts.states[value],
        }))}
      />
      {data === undefined && error === null ? <Loading>{words.shell.loading}</Loading> : null}
      <ErrorCallout error={error} onRetry={() => void refetch()} />
      <ErrorCallout error={redelivery.error} onRetry={() => redelivery.mutate(redelivery.variables)} />
      {data !== undefined && records.length === 0 ? <p className="muted">{texts.noDeliveries}</p> : null}
      {records.length === 0 ? null : (
        <ul className="entries">
          {records.map((record) => (
            <Delivery
              key={record.id}
              record={record}
              busy={redelivery.isPending}
              onRedeliver={() => redelivery.mutate(record.id)}
            />
          ))}
        </ul>
      )}
      <div className="row">
        {hasNextPage ? (
          <BusyButton busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            {words.home.showMore}
          </BusyButton>
        ) : null}
        {failed > 0 ? (
          <BusyButton busy={redelivery.isPending} onClick={() => redelivery.mutate(undefined)}>
            {texts.redeliverAll}
          </BusyButton>
        ) : null}
        <p role="status" className="muted">
          {redelivery.isPending ? texts.redelivering : null}
          {redelivery.data === undefined ? null : texts.redelivered(redelivery.data)}
        </p>
      </div>
    </div>
  );
}
