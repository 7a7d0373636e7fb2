// The index of the search: what was said in conversations, and how far each one is indexed. It is filled in the
// background, also for conversations that exist already, and holds only words: texts are read from the log.
import type { Migration } from './migration.ts';

export const search: Migration = {
  name: '0038-search',
  kind: 'expand',
  statements: (kind) => [
    `create table search_positions (
      conversation_key ${kind === 'sqlite' ? 'integer' : 'bigint'} not null primary key, next_event bigint not null,
      title text not null)`,
    ...(kind === 'sqlite'
      ? [
          // A row has the number of its event. The words are split already, which `ascii` leaves as they are.
          `create virtual table search_documents using fts5 (
            owner, words, content = '', contentless_delete = 1, tokenize = 'ascii', prefix = '2 3')`,
        ]
      : [
          'create table search_documents (place bigint primary key, words tsvector not null)',
          'create index search_documents_by_words on search_documents using gin (words)',
        ]),
  ],
};
