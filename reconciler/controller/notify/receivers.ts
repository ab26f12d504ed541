// Turns one entry of `notifications` into HTTP requests: reads its secrets, builds body and headers.
import { readFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import { readSecret } from '../sources/files/secret.ts';
import { timedSignature } from '../sources/webhooks/verify-webhook.ts';
import { commitStatusCall, matrixBody, shownOf, slackBody, webhookBody } from './messages.ts';
import type { Notice } from './notice.ts';
import type { EmailTarget, NotificationEntry } from './notify-schema.ts';
import type { Mail } from './smtp.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface Outgoing {
  readonly method: 'POST' | 'PUT';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly ca?: string;
  /** Texts that messages must not quote. */
  readonly secrets: readonly string[];
}

export interface ReceiverContext {
  readonly absolute: (path: string) => string;
  readonly nowMs: () => number;
}

/** Undefined: this receiver skips the notice. Throws for a wrong setting or file. */
export async function outgoingOf(
  entry: NotificationEntry,
  notice: Notice,
  context: ReceiverContext,
): Promise<Outgoing | undefined> {
  const { webhook, slack, matrix, commitStatus } = entry;
  const where = `notification ${entry.name}`;
  const json = { 'content-type': 'application/json', 'user-agent': 'gantry' };
  const secretOf = (what: string, file: string): Promise<string> =>
    readSecret(`${where}: ${what}`, context.absolute(file));
  if (webhook !== undefined) {
    const url = await urlOf(where, webhook, secretOf);
    const secret =
      webhook.secretFile === undefined ? undefined : await secretOf('webhook.secretFile', webhook.secretFile);
    const ca = webhook.caFile === undefined ? undefined : await readText(where, context.absolute(webhook.caFile));
    const body = webhookBody(notice);
    const timestamp = String(Math.floor(context.nowMs() / 1000));
    const signed =
      secret === undefined
        ? {}
        : { 'x-gantry-timestamp': timestamp, 'x-gantry-signature-256': timedSignature(secret, timestamp, body) };
    const headers = { ...json, ...signed, 'x-gantry-event': notice.kind, 'x-gantry-delivery': idOf(entry, notice) };
    return {
      method: 'POST',
      url,
      headers,
      body,
      secrets: secretsOf(url, secret, webhook.urlFile),
      ...withoutUndefined({ ca }),
    };
  }
  if (slack !== undefined) {
    const url = await urlOf(where, slack, secretOf);
    // The URL of a hook is a secret.
    return {
      method: 'POST',
      url,
      headers: json,
      body: slackBody(notice, slack.channel, entry.template),
      secrets: [url.href, url.pathname],
    };
  }
  if (matrix !== undefined) {
    const token = await secretOf('matrix.tokenFile', matrix.tokenFile);
    // The transaction id: a repeated request makes one message.
    const path = `_matrix/client/v3/rooms/${encodeURIComponent(matrix.room)}/send/m.room.message/${idOf(entry, notice)}`;
    const url = httpUrl(where, `${matrix.homeserver.replace(/\/+$/, '')}/${path}`);
    return {
      method: 'PUT',
      url,
      headers: { ...json, authorization: `Bearer ${token}` },
      body: matrixBody(notice, entry.template),
      secrets: [token],
    };
  }
  if (commitStatus === undefined)
    throw new Error(`${where} needs exactly one of webhook, slack, matrix, commitStatus and email`);
  const token = await secretOf('commitStatus.tokenFile', commitStatus.tokenFile);
  const call = commitStatusCall(commitStatus, notice, token);
  if (call === undefined) return undefined;
  const defaults = { github: 'https://api.github.com', gitlab: 'https://gitlab.com/api/v4', gitea: undefined } as const;
  const api = commitStatus.api ?? defaults[commitStatus.provider];
  if (api === undefined)
    throw new Error(`${where}: commitStatus.api is needed for Gitea, such as https://git.example.org/api/v1`);
  return {
    method: 'POST',
    url: httpUrl(where, `${api.replace(/\/+$/, '')}${call.path}`),
    headers: { ...json, ...call.headers },
    body: call.body,
    secrets: [token],
  };
}

async function urlOf(
  where: string,
  target: { url?: string; urlFile?: string },
  secretOf: (what: string, file: string) => Promise<string>,
): Promise<URL> {
  if ((target.url === undefined) === (target.urlFile === undefined))
    throw new Error(`${where} needs either url or urlFile`);
  return httpUrl(where, target.url ?? (await secretOf('urlFile', target.urlFile ?? '')));
}

function httpUrl(where: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw new Error(`${where}: its URL is no http or https URL`);
  if (url.username !== '' || url.password !== '')
    throw new Error(`${where}: its URL holds a user name or a password; use a file with a token`);
  return url;
}

const secretsOf = (url: URL, secret: string | undefined, urlFile: string | undefined): readonly string[] => [
  ...(secret === undefined ? [] : [secret]),
  ...(urlFile === undefined ? [] : [url.href, url.pathname]),
  ...(url.search === '' ? [] : [url.search]),
];

const readText = (where: string, file: string): Promise<string> =>
  readFile(file, 'utf8').catch((error: unknown) => {
    throw new Error(`${where}: cannot read caFile: ${reasonOf(error)}`, { cause: error });
  });

/** The mail for a notice. Throws for a wrong setting or file. */
export async function mailOf(
  entry: NotificationEntry & { readonly email: EmailTarget },
  notice: Notice,
  context: ReceiverContext,
): Promise<Mail> {
  const { name, email, template } = entry;
  const { smtp, from, to, username, passwordFile, caFile } = email;
  const where = `notification ${name}`;
  if ((username === undefined) !== (passwordFile === undefined))
    throw new Error(`${where} needs both username and passwordFile, or neither`);
  const login =
    username === undefined || passwordFile === undefined
      ? {}
      : {
          login: {
            user: username,
            password: await readSecret(`${where}: passwordFile`, context.absolute(passwordFile)),
          },
        };
  const ca = caFile === undefined ? {} : { ca: await readText(where, context.absolute(caFile)) };
  const { title, lines } = shownOf(notice, template);
  const content = { subject: title, text: `${lines.join('\n')}\n`, id: idOf(entry, notice), at: notice.at };
  return { url: new URL(smtp), from, to, ...content, ...login, ...ca };
}

const idOf = (entry: NotificationEntry, notice: Notice): string =>
  createHash('sha256')
    .update(JSON.stringify([entry.name, notice]))
    .digest('hex')
    .slice(0, 32);
