// The context of a command for one host of several: options with its connection and variables, its name before every line,
// its diagnostics collected until all hosts have answered.
import { randomBytes } from 'node:crypto';
import { Writable } from 'node:stream';
import type { Diagnostic } from '../../core/documents/diagnostic.ts';
import type { Host } from '../../manifest/hosts-file.ts';
import type { HostView } from '../../manifest/load-contract.ts';
import { jsonLinesTo, type HostScope, type Context, type Output } from '../session/context.ts';
import { hasColor } from '../output/process-io.ts';
import type { HostOptions } from '../flags/host-flags.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface HostContext<O extends object = object> extends Context<O> {
  /** Prefix of its lines. */
  readonly head: string;
  readonly collected: readonly Diagnostic[];
}

/** What the loads of all hosts share. */
export interface FleetScope {
  readonly rollout: string;
  readonly all: HostView['all'];
  readonly names: HostView['names'];
  readonly images: HostView['images'];
  readonly stdin?: string;
}

export function scopeOf(hosts: readonly Host[], stdin: string | undefined): FleetScope {
  const names = [...new Set(hosts.flatMap(({ vars }) => Object.keys(vars)))];
  const rollout = randomBytes(6).toString('hex');
  return {
    rollout,
    all: hosts,
    names: [hostVariable, ...names],
    images: new Map(),
    ...withoutUndefined({ stdin }),
  };
}

/** The name of the host, for documents. */
const hostVariable = 'GANTRY_HOST_NAME';

const scopeFor = (host: Host, { stdin, rollout, ...shared }: FleetScope): HostScope => ({
  rollout,
  view: { ...shared, facts: host },
  vars: { [hostVariable]: host.name, ...host.vars },
  ...withoutUndefined({ stdin }),
});

function optionsFor<O extends HostOptions>(host: Host, options: O): O {
  const { address, clientCert, clientKey, serverCert, project } = host;
  const pair = clientCert === undefined || clientKey === undefined ? {} : { clientCert, clientKey };
  return {
    ...options,
    host: [address],
    ...pair,
    ...withoutUndefined({ serverCert, project }),
  };
}

/** For a command that works on one host only: its lines have no prefix. */
export function oneHostContext<O extends HostOptions>(context: Context<O>, host: Host, scope: FleetScope): Context<O> {
  return { ...context, options: optionsFor(host, context.options), host: scopeFor(host, scope) };
}

/** `width` of the longest name, to align the lines of different hosts. */
export function hostContext<O extends HostOptions>(
  context: Context<O>,
  host: Host,
  scope: FleetScope,
  width: number,
): HostContext<O> {
  const { io } = context;
  const head = `${host.name.padEnd(width)} | `;
  const collected: Diagnostic[] = [];
  const json = (line: string): void => context.json(withHost(line, host.name));
  const note = (text: string): void => {
    for (const line of text.split('\n')) context.note(line.trim() === '' ? '' : `${head}${line}`);
  };
  const stdout = lineWriter(context.isJson ? json : (line) => context.note(`${head}${line}`));
  const colored = hasColor(io.env, io.stderr, context.options.color !== false);
  return {
    ...context,
    options: optionsFor(host, context.options),
    host: scopeFor(host, scope),
    // A separate signal per host: everything that waits for the host adds a listener to it.
    stop: AbortSignal.any([context.stop]),
    cancel: AbortSignal.any([context.cancel]),
    io: {
      ...io,
      // Never a terminal: the rows of several hosts would overwrite each other.
      env: colored ? { ...io.env, FORCE_COLOR: '1' } : io.env,
      stdout,
      stderr: lineWriter((line) => note(line)),
    },
    head,
    collected,
    note,
    json,
    jsonObjects: jsonLinesTo(stdout, context.isJson),
    out: note,
    diagnostics: (found) => {
      collected.push(...found);
      return Promise.resolve();
    },
    // The command itself prints the line about an interruption.
    takeAnnouncements: () => () => {},
  };
}

/** Like `hostContext`, for a command that keeps running: prints data and diagnostics at once. `printsJson`: its text is JSON lines. */
export function stayingContext<O extends object>(
  context: Output,
  own: HostContext<O>,
  host: Host,
  printsJson = false,
): HostContext<O> {
  const print = (line: string): void =>
    context.isJson
      ? own.json(line)
      : void context.io.stdout.write(`${printsJson ? withHost(line, host.name) : `${own.head}${line}`}\n`);
  const stdout = lineWriter(print);
  const out = (text: string): void => {
    if (!context.isJson) for (const line of text.split('\n')) print(line);
  };
  return {
    ...own,
    out,
    jsonObjects: jsonLinesTo(stdout, context.isJson),
    io: { ...own.io, stdout },
    diagnostics: (found) =>
      context.diagnostics(found.map((one) => ({ ...one, message: `on ${host.name}: ${one.message}` }))),
  };
}

/** Adds the host as the second member, where a reader sees it first. */
function withHost(line: string, host: string): string {
  const { '@level': level, ...rest } = JSON.parse(line) as Record<string, unknown>;
  return JSON.stringify({ '@level': level, host, ...rest });
}

function lineWriter(write: (line: string) => void): Writable {
  let rest = '';
  return new Writable({
    decodeStrings: false,
    write(chunk: string | Buffer, _encoding, done) {
      const lines = `${rest}${chunk.toString()}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) write(line);
      done();
    },
  });
}
