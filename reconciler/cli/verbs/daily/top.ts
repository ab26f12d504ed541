// `gantry top`: shows processor, memory and network use of running containers, once or at intervals.
import type { Container, ContainerFull } from '../../../../server/api/container/container.ts';
import { formatBinary } from '../../../../server/api/text/byte-size.ts';
import type { Client } from '../../../../server/client/client.ts';
import { pause } from '../../../../server/lib/shared/deadline.ts';
import { codeOf } from '../../errors/error-outcome.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { usageError } from '../../errors/usage-error.ts';
import { parseContainer, parseDuration } from '../../flags/parse-values.ts';
import { selectObjects } from '../../flags/selector.ts';
import { paintFor, type Paint } from '../../output/paint.ts';
import { canRepaint } from '../../output/process-io.ts';
import { renderTable } from '../../output/table.ts';
import { withClient } from '../../session/connect.ts';
import type { Context, Run } from '../../session/context.ts';
import type { TopOptions } from './daily-verbs.ts';

type State = NonNullable<ContainerFull['state']>;
interface Reading {
  readonly atMs: number;
  readonly states: ReadonlyMap<string, State>;
}
export interface Use {
  readonly name: string;
  /** In percent of one processor. */
  readonly cpu: number;
  readonly memory: number;
  readonly processes: number;
  /** Bytes each second. */
  readonly received: number;
  readonly sent: number;
}

const defaultMs = 2000;
const clear = '\u001b[H\u001b[J';

export const top: Run<TopOptions> = async (context, words) => {
  const { options, io, stop } = context;
  const wanted = words.map((word) => `container/${parseContainer(word, 'gantry top')}`);
  const intervalMs = parseDuration('--interval', options.interval) ?? defaultMs;
  if (intervalMs < 100) throw usageError('--interval is at least 100ms');
  const repeats = options.once !== true && !context.isJson && canRepaint(io.env, io.stdout);
  // Nothing is in progress that Ctrl-C would have to finish.
  context.takeAnnouncements();
  try {
    return await withClient(context, async (client) => {
      let last = await read(context, client, wanted);
      for (;;) {
        await pause(intervalMs, stop);
        const now = await read(context, client, wanted);
        if (repeats) io.raw.stdout.write(clear);
        show(context, usesBetween(last, now), repeats ? sizeOf(io) : unbounded);
        await io.flush();
        if (!repeats) return exitCodes.ok;
        last = now;
      }
    });
  } catch (error) {
    // Ctrl-C is its ordinary end.
    if (!repeats || codeOf(stop.reason) !== exitCodes.interrupted) throw error;
    return exitCodes.interrupted;
  }
};

async function read({ io, stop }: Context, client: Client, wanted: readonly string[]): Promise<Reading> {
  const call = { method: 'GET', path: '/1.0/containers', query: { recursion: 2 } } as const;
  const { metadata } = await client.http.send<readonly (Container & Partial<Pick<ContainerFull, 'state'>>)[] | null>(
    call,
    stop,
  );
  const all = (metadata ?? []).map(({ name, state }) => ({ kind: 'container' as const, name, state }));
  const running = selectObjects(wanted, all).flatMap(({ name, state }) =>
    state !== undefined && state !== null && state.pid > 0 ? [[name, state] as const] : [],
  );
  return { atMs: io.nowMs(), states: new Map(running) };
}

/** Only containers that ran at both times, the busiest first. */
export function usesBetween(before: Reading, after: Reading): readonly Use[] {
  const seconds = Math.max(0.001, (after.atMs - before.atMs) / 1000);
  return [...after.states]
    .flatMap(([name, now]): Use[] => {
      const old = before.states.get(name);
      if (old?.pid !== now.pid) return [];
      const rate = (value: (state: State) => number): number => Math.max(0, value(now) - value(old)) / seconds;
      return [
        {
          name,
          cpu: rate(({ cpu }) => cpu.usage) / 1e7,
          memory: now.memory.usage,
          processes: now.processes,
          received: rate((state) => bytes(state, 'bytes_received')),
          sent: rate((state) => bytes(state, 'bytes_sent')),
        },
      ];
    })
    .toSorted((a, b) => b.cpu - a.cpu || (a.name < b.name ? -1 : 1));
}

const bytes = ({ network }: State, counter: 'bytes_received' | 'bytes_sent'): number =>
  Object.entries(network ?? {}).reduce((sum, [nic, { counters }]) => (nic === 'lo' ? sum : sum + counters[counter]), 0);

interface Size {
  readonly columns: number;
  readonly rows: number;
}

const unbounded: Size = { columns: Infinity, rows: Infinity };

/** The cursor needs the last row: a table that reaches it would scroll its beginning away. */
const sizeOf = ({ stdout }: Context['io']): Size => ({ columns: stdout.columns ?? 80, rows: (stdout.rows ?? 24) - 1 });

function show(context: Context, uses: readonly Use[], size: Size): void {
  if (context.isJson) return context.jsonObjects(uses.map((use) => ({ kind: 'container', ...use })));
  context.out(renderUses(uses, paintFor(context.color), size));
  if (uses.length === 0) context.note('No container runs: gantry list shows all');
}

/** The first of `uses` that fit, and the number of the others. */
export function renderUses(uses: readonly Use[], paint: Paint, { columns, rows }: Size): string {
  const head = ['NAME', 'CPU', 'MEMORY', 'PROCESSES', 'RECEIVED', 'SENT'];
  const fitting = uses.length < rows ? uses.length : Math.max(1, rows - 2);
  const texts = uses
    .slice(0, fitting)
    .map(({ name, cpu, memory, processes, received, sent }) => [
      name,
      `${cpu.toFixed(1)}%`,
      formatBinary(memory),
      String(processes),
      `${formatBinary(Math.round(received))}/s`,
      `${formatBinary(Math.round(sent))}/s`,
    ]);
  const more = uses.length - fitting;
  return `${renderTable(head, texts, paint, columns)}${more > 0 ? `\n... and ${more} more` : ''}`;
}
