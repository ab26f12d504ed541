// `gantry events`: prints server events as they happen; only listens.
import type { Run, Output } from '../../session/context.ts';
import { eventTypes, type Event, type EventType, type LifecycleMetadata } from '../../../../server/api/event.ts';
import { within, DeadlineError } from '../../../../server/lib/shared/deadline.ts';
import { utcSecond } from '../../../core/text/times.ts';
import { printable } from '../../../core/text/terminal-text.ts';
import { userText, type CertificateNames } from '../../../core/drift/lifecycle-changes.ts';
import { CertificateBook } from '../../../engine/observe/certificate-names.ts';
import type { EventsOptions } from './object-verbs.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { parseDuration } from '../../flags/parse-values.ts';
import { withClient } from '../../session/connect.ts';
import { usageError } from '../../errors/usage-error.ts';

/** Runs until Ctrl-C (exit code 130) or for the time of --for (0). */
export const events: Run<EventsOptions> = async (context) => {
  const { options } = context;
  const types = typesOf(options.type);
  const limitMs = parseDuration('--for', options.for);
  return withClient(context, async (client) => {
    const listen = async (signal: AbortSignal): Promise<void> => {
      const onGap = gapNotes((text) => context.note(text));
      const book = new CertificateBook((kind, inner) => client.list(kind, inner));
      for await (const event of client.events(types, signal, { onGap }))
        printEvent(context, event, context.isJson ? undefined : await namesFor(event, book, signal));
    };
    // Nothing is in progress that Ctrl-C would have to finish.
    context.takeAnnouncements();
    const stopWatching = context.io.watchReader();
    try {
      await (limitMs === undefined ? listen(context.stop) : within(limitMs, listen, context.stop));
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
    } finally {
      stopWatching();
    }
    return context.stop.aborted ? exitCodes.interrupted : exitCodes.ok;
  });
};

/** Says once that the connection is lost, however many attempts fail. */
export function gapNotes(note: (text: string) => void): (reason: 'overflow' | 'reconnected' | 'disconnected') => void {
  let isLost = false;
  return (reason) => {
    if (reason === 'overflow') return note('Events were missed: they came faster than they were printed');
    if (reason === 'disconnected' && !isLost) note('The connection is lost: gantry connects again as soon as it can');
    if (reason === 'reconnected') note('Connected again: events in between were missed');
    isLost = reason === 'disconnected';
  };
}

function typesOf(words: readonly string[] = ['lifecycle']): readonly EventType[] {
  return words.map((word) => {
    const type = eventTypes.find((one) => one === word);
    if (type === undefined) throw usageError(`--type ${JSON.stringify(word)} is not one of ${eventTypes.join(', ')}`);
    return type;
  });
}

/** Reads the certificates at the first event with one as its author, and again when they change. */
async function namesFor(
  { type, metadata }: Event,
  book: CertificateBook,
  signal: AbortSignal,
): Promise<CertificateNames | undefined> {
  const { action = '', requestor } = (metadata ?? {}) as Partial<LifecycleMetadata>;
  if (type !== 'lifecycle') return undefined;
  if (action.startsWith('certificate-')) book.forget();
  return requestor?.protocol === 'tls' ? book.names(signal) : undefined;
}

function printEvent(context: Output, event: Event, names: CertificateNames | undefined): void {
  context.jsonObjects(event);
  context.out([utcSecond(event.timestamp), event.type, printable(textOf(event, names))].join('  '));
}

/** A caller on the socket has no name. */
function authorOf(requestor: LifecycleMetadata['requestor'], names: CertificateNames | undefined): string {
  const { username = '', protocol } = requestor ?? {};
  return username === '' && protocol === 'unix' ? 'somebody on the server itself' : userText(username, names);
}

/** For a lifecycle event its action, object and author; for others a short description. */
function textOf({ type, metadata }: Event, names: CertificateNames | undefined): string {
  const {
    action = '',
    source = '',
    requestor,
    ...rest
  } = (metadata ?? {}) as Partial<LifecycleMetadata> & Readonly<Record<string, unknown>>;
  if (type === 'lifecycle') {
    const author = authorOf(requestor, names);
    return `${action} ${source}${author === '' ? '' : `  by ${author}`}`;
  }
  const text = type === 'operation' ? [rest['description'], rest['status']] : [rest['level'], rest['message']];
  return text.filter((word) => typeof word === 'string').join(': ');
}
