// `gantry logs NAME`: prints the console log of a container, once or following it, and the log files of LXC and of commands.
import { buffer } from 'node:stream/consumers';
import { StringDecoder } from 'node:string_decoder';
import { containerPath } from '../../../../server/api/names.ts';
import { ClientError, isNotFound } from '../../../../server/client/client-error.ts';
import type { Client } from '../../../../server/client/client.ts';
import { pause } from '../../../../server/lib/shared/deadline.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { commandError } from '../../errors/usage-error.ts';
import { parseContainer, parseNumber } from '../../flags/parse-values.ts';
import { withClient } from '../../session/connect.ts';
import type { Command, Output, Run } from '../../session/context.ts';
import type { LogsOptions } from './daily-verbs.ts';
import { refuseMissing } from '../../errors/missing-object.ts';

const pollMs = 500;

export const logs: Run<LogsOptions> = async (context, [word = '']) => {
  const name = parseContainer(word, 'gantry logs');
  const { follow, tail, log } = context.options;
  const lines = parseNumber('--tail', tail);
  return withClient(context, async (client) => {
    if (log === 'list') return listLogs(context, client, name);
    const read = (): Promise<string> => readLog(client, name, log, context.stop);
    const print = logPrinter(context);
    const first = await read();
    print(lines === undefined ? first : lastLines(first, lines), follow !== true);
    if (follow === true) await followLog(context, client, name, { first, read, print });
    else if (first === '') context.note(await emptyNote(client, name, log, context.stop));
    return context.stop.aborted ? exitCodes.interrupted : exitCodes.ok;
  });
};

async function listLogs(context: Command, client: Client, name: string): Promise<0> {
  const call = { method: 'GET', path: containerPath(name, 'logs') } as const;
  const { metadata } = await client.http
    .send<readonly string[] | null>(call, context.stop)
    .catch(refuseMissing('container', name));
  // A server may keep logs of a container that is gone, so it does not say whether there is one.
  if ((metadata ?? []).length === 0)
    await client.get('container', name, context.stop).catch(refuseMissing('container', name));
  for (const url of metadata ?? []) {
    const file = decodeURIComponent(url.split('?', 1).join('').split('/').at(-1) ?? '');
    context.io.stdout.write(`${context.isJson ? JSON.stringify({ name, log: file }) : file}\n`);
  }
  return exitCodes.ok;
}

/** Bytes as latin1: a part of a log may begin or end within a character. */
async function readLog(client: Client, name: string, log: string | undefined, signal: AbortSignal): Promise<string> {
  const path = log === undefined ? containerPath(name, 'console') : containerPath(name, 'logs', log);
  const reply = await client.http.open({ method: 'GET', path }, signal).catch(async (error: unknown) => {
    // Names that are none of a log are a bad request.
    const isNoLog = isNotFound(error) || (error instanceof ClientError && error.status === 400);
    // LXD fails instead of returning nothing when a container has written nothing yet.
    if (log === undefined && error instanceof ClientError && error.status === 500)
      throw commandError(
        `container/${name}: the server has no log of its console (${error.message}): gantry logs ${name} --log list shows the others`,
        error,
      );
    if (log === undefined || !isNoLog) return refuseMissing('container', name)(error);
    await client.get('container', name, signal).catch(refuseMissing('container', name));
    throw commandError(
      `container/${name} has no log ${log}: gantry logs ${name} --log list shows what there is`,
      error,
    );
  });
  return (await buffer(reply.body)).toString('latin1');
}

/** Ends at Ctrl-C, or when the container has stopped and its log is printed. */
async function followLog(
  context: Command,
  client: Client,
  name: string,
  { first, read, print }: { readonly first: string; readonly read: () => Promise<string>; readonly print: Print },
): Promise<void> {
  // Nothing is in progress that Ctrl-C would have to finish.
  context.takeAnnouncements();
  const stopWatching = context.io.watchReader();
  try {
    for (let last = first; ;) {
      const { status } = (await client.containerState(name, context.stop)).metadata;
      const now = await read();
      print(newPart(last, now));
      last = now;
      if (status === 'Stopped') return;
      await pause(pollMs, context.stop);
    }
  } catch (error) {
    // The container was deleted, or Ctrl-C: both are ordinary ends.
    if (!context.stop.aborted && !isNotFound(error)) throw error;
  } finally {
    stopWatching();
    print('', true);
  }
}

/** The text of `now` after the longest end of `last` with which it begins: the server keeps only the end of a long log. */
export function newPart(last: string, now: string): string {
  if (now.startsWith(last)) return now.slice(last.length);
  const head = now.slice(0, 256);
  // Only a long log loses its beginning; a short one is that of a new start.
  if (head.length < 256) return now;
  for (let at = last.indexOf(head); at !== -1; at = last.indexOf(head, at + 1))
    if (now.startsWith(last.slice(at))) return now.slice(last.length - at);
  return now;
}

export function lastLines(text: string, count: number): string {
  if (count === 0) return '';
  const body = text.endsWith('\n') ? text.slice(0, -1) : text;
  return `${body.split('\n').slice(-count).join('\n')}${body === text ? '' : '\n'}`;
}

type Print = (part: string, isEnd?: boolean) => void;

/** Prints the parts of a log. Holds back what the next part may complete: a character, a line break, with --json a line. */
export function logPrinter(context: Output): Print {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  return (part, isEnd = false) => {
    const text = rest + decoder.write(Buffer.from(part, 'latin1')) + (isEnd ? decoder.end() : '');
    const whole = context.isJson ? text.slice(0, text.lastIndexOf('\n') + 1) : text.replace(/\r$/, '');
    const shown = isEnd ? text : whole;
    rest = text.slice(shown.length);
    if (shown === '') return;
    if (!context.isJson) context.io.stdout.write(shown.replaceAll('\r\n', '\n'));
    else for (const line of shown.split(/\r?\n/)) if (line !== '') context.jsonObjects({ line });
  };
}

async function emptyNote(client: Client, name: string, log: string | undefined, signal: AbortSignal): Promise<string> {
  if (log !== undefined) return `${log} of ${name} is empty`;
  const { status } = (await client.containerState(name, signal)).metadata;
  return status === 'Stopped'
    ? `${name} is stopped and its console is empty: gantry logs ${name} --log lxc.log shows what LXC says`
    : `${name} wrote nothing to its console yet; gantry shell ${name} looks inside`;
}
