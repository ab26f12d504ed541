// Calls the HTTP API of a controller.
import { readFile } from 'node:fs/promises';
import { Agent, request } from 'undici';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import type { Failure } from '../../../controller/http/contract.ts';
import type { CliContext } from '../../session/context.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { CliError, usageError } from '../../errors/usage-error.ts';
import type { ApiOptions } from './controller-verbs.ts';

export interface ControllerApi {
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body: object): Promise<T>;
  /** The data of server-sent events; ends when `signal` fires or the connection is lost. */
  events(signal: AbortSignal): AsyncGenerator<void, void, void>;
  close(): Promise<void>;
}

export async function openApi({ options, io, stop }: CliContext<ApiOptions>): Promise<ControllerApi> {
  const base = baseOf(options.url ?? io.env['GANTRY_CONTROLLER'] ?? 'http://127.0.0.1:8440');
  const token =
    options.tokenFile === undefined ? undefined : (await readOption('--token-file', options.tokenFile)).trim();
  const ca = options.ca === undefined ? undefined : await readOption('--ca', options.ca);
  const dispatcher = new Agent({
    headersTimeout: 30_000,
    bodyTimeout: 0,
    ...(ca === undefined ? {} : { connect: { ca } }),
  });
  const headers = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    'content-type': 'application/json',
  };
  const send = async (method: 'GET' | 'POST', path: string, body: object | undefined, signal: AbortSignal) => {
    try {
      return await request(`${base}${path}`, {
        method,
        dispatcher,
        headers,
        signal,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    } catch (error) {
      signal.throwIfAborted();
      throw new CliError(
        `The controller at ${base} cannot be reached: ${reasonOf(error)} (--url)`,
        exitCodes.unreachable,
        error,
      );
    }
  };
  const call = async <T>(method: 'GET' | 'POST', path: string, body?: object): Promise<T> => {
    const { statusCode, body: answer } = await send(method, path, body, stop);
    const value: unknown = await answer.json().catch(() => undefined);
    if (statusCode < 300) return value as T;
    const message = (value as Failure | undefined)?.error?.message ?? `it answered ${statusCode}`;
    const hint = statusCode === 401 || statusCode === 403 ? ' (--token-file)' : '';
    throw new CliError(`The controller at ${base} refuses: ${message}${hint}`, exitCodes.error);
  };
  return {
    get: (path) => call('GET', path),
    post: (path, body) => call('POST', path, body),
    async *events(signal) {
      const { body } = await send('GET', '/api/v1/events', undefined, signal);
      for await (const _chunk of body) yield;
    },
    close: () => dispatcher.close(),
  };
}

function baseOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw usageError(`--url ${JSON.stringify(text)} is not a URL such as https://gantry.example.org:8440`);
  return text.replace(/\/+$/, '');
}

const readOption = (flag: string, path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error: unknown) => {
    throw usageError(`Cannot read ${flag}: ${reasonOf(error)}`);
  });
