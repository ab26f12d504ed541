// `gantry events`: what happens on the server, as it happens; only listens.
import { eventTypes, type Event, type EventType, type LifecycleMetadata } from '../../../server/api/event.ts';
import { within, DeadlineError } from '../../../server/client/deadline.ts';
import { printable } from '../../core/paint.ts';
import type { CliContext } from '../context.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { parseDuration } from '../options.ts';
import { withClient } from '../session.ts';
import { usageError } from '../usage-error.ts';

interface EventOptions {
  readonly type?: readonly string[];
  readonly for?: string;
}

/** Until Ctrl-C (130), or for so long (0). */
export async function events(context: CliContext, options: EventOptions): Promise<ExitCode> {
  const types = typesOf(options.type);
  const limitMs = parseDuration('--for', options.for);
  return withClient(context, async (client) => {
    const listen = async (signal: AbortSignal): Promise<void> => {
      const onGap = (reason: string): void =>
        context.note(reason === 'disconnected' ? 'The connection is lost' : 'Events were missed');
      for await (const event of client.events(types, signal, { onGap })) tell(context, event);
    };
    try {
      await (limitMs === undefined ? listen(context.stop) : within(limitMs, listen, context.stop));
    } catch (error) {
      if (!(error instanceof DeadlineError)) throw error;
    }
    return context.stop.aborted ? exitCodes.interrupted : exitCodes.ok;
  });
}

function typesOf(words: readonly string[] = ['lifecycle']): readonly EventType[] {
  return words.map((word) => {
    const type = eventTypes.find((one) => one === word);
    if (type === undefined) throw usageError(`--type ${JSON.stringify(word)} is none of ${eventTypes.join(', ')}`);
    return type;
  });
}

function tell(context: CliContext, event: Event): void {
  if (context.isJson) context.io.stdout.write(`${JSON.stringify(event)}\n`);
  else context.out([event.timestamp.slice(0, 19), event.type, printable(textOf(event))].join('  '));
}

/** Of a lifecycle event who did what to what; of others the shortest that tells them apart. */
function textOf({ type, metadata }: Event): string {
  const {
    action = '',
    source = '',
    requestor,
    ...rest
  } = (metadata ?? {}) as Partial<LifecycleMetadata> & Readonly<Record<string, unknown>>;
  if (type === 'lifecycle') return `${action} ${source}${requestor === undefined ? '' : `  by ${requestor.username}`}`;
  const text = type === 'operation' ? [rest['description'], rest['status']] : [rest['level'], rest['message']];
  return text.filter((word) => typeof word === 'string').join(': ');
}
