// Commands and consoles of containers on the wire: the requests that start them and the messages of the control channel (spec 4.3,
// 4.4).
import { Type, type Static } from 'typebox';
import { ConfigMap } from '../schema/common-schemas.ts';
import { facts } from '../schema/field.ts';

const Size = Type.Integer({ minimum: 0, maximum: 65_535, ...facts({ doc: 'Of the terminal; 0: 80 by 24.' }) });
const Id = Type.Integer({ minimum: 0, maximum: 4_294_967_294 });

export const ExecPost = Type.Object({
  command: Type.Array(Type.String(), { minItems: 1, ...facts({ doc: 'Command and arguments.' }) }),
  environment: Type.Optional(
    Type.Union([ConfigMap, Type.Null()], facts({ doc: 'Overrides the environment.* keys of the container.' })),
  ),
  'wait-for-websocket': Type.Optional(
    Type.Boolean(facts({ doc: 'Starts when all data channels are connected; without, the command has no input.' })),
  ),
  'record-output': Type.Optional(
    Type.Boolean(
      facts({
        doc: 'Stores the output in log files; only without wait-for-websocket and interactive.',
        since: 'container_exec_recording',
      }),
    ),
  ),
  interactive: Type.Optional(Type.Boolean(facts({ doc: 'One terminal instead of three pipes.' }))),
  width: Type.Optional(Size),
  height: Type.Optional(Size),
  user: Type.Optional(
    Type.Union([Id, Type.Null()], facts({ doc: 'User id inside; default 0.', since: 'container_exec_user_group_cwd' })),
  ),
  group: Type.Optional(
    Type.Union(
      [Id, Type.Null()],
      facts({ doc: 'Group id inside; default 0.', since: 'container_exec_user_group_cwd' }),
    ),
  ),
  cwd: Type.Optional(
    Type.String(
      facts({
        doc: 'Directory to run in, from / without a leading slash; default HOME. A command that cannot enter it runs in /.',
        since: 'container_exec_user_group_cwd',
      }),
    ),
  ),
});
export type ExecPost = Static<typeof ExecPost>;

export const ConsolePost = Type.Object({ width: Type.Optional(Size), height: Type.Optional(Size) });
export type ConsolePost = Static<typeof ConsolePost>;

/** Messages of clients on the control channel, as JSON. Anything else is ignored there. */
export type ControlMessage =
  | { readonly command: 'window-resize'; readonly columns: number; readonly rows: number }
  | { readonly command: 'signal'; readonly signal: number };

/** Sizes come as text (spec 4.3) or as numbers. undefined: an unknown message. */
export function parseControlMessage(text: string): ControlMessage | undefined {
  const message = parseObject(text);
  if (message?.['command'] === 'signal') {
    const signal = Number(message['signal']);
    return Number.isInteger(signal) && signal >= 1 && signal <= 64 ? { command: 'signal', signal } : undefined;
  }
  if (message?.['command'] !== 'window-resize') return undefined;
  const args = message['args'];
  if (typeof args !== 'object' || args === null) return undefined;
  const { width, height } = args as Readonly<Record<string, unknown>>;
  const [columns, rows] = [Number(width), Number(height)];
  const isSize = (number: number): boolean => Number.isInteger(number) && number > 0 && number <= 65_535;
  return isSize(columns) && isSize(rows) ? { command: 'window-resize', columns, rows } : undefined;
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}
