// `parley snapshots`.
import { BlobStoreError } from '../../blobs/blobStore.ts';
import { openBlobStore } from '../../blobs/openBlobStore.ts';
import { RefusalError } from '../../errors.ts';
import { commandName } from '../../process/program.ts';
import { findUser } from '../../users/store.ts';
import { markingFault, markStore, readMarking } from '../../workspaces/snapshots/marker.ts';
import { type Discarded, discardSnapshot, recordAcceptedStore } from '../../workspaces/snapshots/store.ts';
import { commandLine, withDatabase } from '../backends/database.ts';
import type { Handler } from '../command.ts';
import type { snapshotsAcceptStoreCommand, snapshotsDiscardCommand } from '../declarations/machine.ts';
import { exits } from '../exits.ts';

const storeMsMax = 30_000;

const refusals: Readonly<Record<Exclude<Discarded, 'discarded'>, string>> = {
  no_conversation: 'There is no such conversation of this user. The whole id is needed.',
  no_snapshot: 'The conversation has no snapshot.',
  not_stopped: 'The conversation is not stopped. Stop it first.',
};

export const discard: Handler<typeof snapshotsDiscardCommand> = async ({ args, options }) => {
  const outcome = await withDatabase(async (database) => {
    const user = await database.run(findUser, options.user);
    if (user === undefined)
      throw new RefusalError(`There is no such user; "${commandName} users list" shows them.`);
    return database.run(discardSnapshot, { userId: user.id, id: args.conversation, by: commandLine });
  });
  if (outcome !== 'discarded') throw new RefusalError(refusals[outcome]);
  process.stderr.write('The snapshot is given up. The service removes it from the store within minutes.\n');
  return exits.done;
};

export const acceptStore: Handler<typeof snapshotsAcceptStoreCommand> = () =>
  withDatabase(async (database, { snapshots: location }) => {
    if (location === undefined)
      throw new RefusalError('Set PARLEY_SNAPSHOTS to the store, as for the service.');
    const store = openBlobStore(location);
    try {
      const signal = AbortSignal.timeout(storeMsMax);
      const marking = await readMarking(database, store, signal);
      if (marking.state === 'foreign') {
        const { message, remedy } = markingFault(marking) ?? {};
        throw new RefusalError(`The store ${store.name} is not accepted: ${message}. ${remedy}`);
      }
      if (marking.state === 'own') process.stderr.write('The store already belongs to this service.\n');
      else {
        await markStore(database, store, signal);
        await database.run(recordAcceptedStore, { store: store.name, by: commandLine });
        process.stderr.write('The service uses the store within seconds.\n');
      }
      return exits.done;
    } catch (error) {
      if (!(error instanceof BlobStoreError)) throw error;
      throw new RefusalError(`The snapshot store ${store.name} cannot be used: ${error.message}.`);
    } finally {
      store.close();
    }
  });
