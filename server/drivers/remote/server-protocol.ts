// Finds and fetches images of another server that speaks this API, without trust: public ones, private ones with a secret (spec 4.8).
import { createHash } from 'node:crypto';
import { DriverError, driverErrors } from '../driver-error.ts';
import { shown } from './address.ts';
import { refusal, single, withConnection, type RemoteConnection, type ConnectionOptions } from './connection.ts';
import type { ImageTarget, ImageRequest, RemoteImage, RemoteServer } from './driver.ts';
import { saveParts } from './multipart.ts';
import { isFingerprint, listOf, mapOf, sizeOf, textOf, textsOf, type JsonMap } from './read-values.ts';
import { checkFingerprint, meter, requireRoom, saveStream } from './save.ts';

/** More are of no use here. */
const maxAliases = 256;
/** Beyond the files: headers and boundaries of the parts. */
const framingBytes = 64 * 1024;

export function findOnServer(
  options: ConnectionOptions,
  { server }: RemoteServer,
  wanted: ImageRequest,
  signal: AbortSignal,
): Promise<RemoteImage> {
  return withConnection(options, async (connection) => {
    const ask = async (path: string, secret = ''): Promise<JsonMap> => {
      const body = await connection.json(
        addressOf(server, path, { secret, project: wanted.project }),
        options.limits.documentBytes,
        signal,
      );
      return mapOf(mapOf(body)['metadata']);
    };
    const prefix = await targetOf(ask, server, wanted);
    const image = await ask(imagePath(prefix), wanted.secret).catch((error: unknown) => {
      throw isMissing(error) ? notThere(server, `fingerprint ${prefix}`, wanted, error) : error;
    });
    const fingerprint = textOf(image['fingerprint']);
    if (!isFingerprint(fingerprint) || !fingerprint.startsWith(prefix)) {
      throw driverErrors.invalid(
        `${server} was asked for image ${prefix} and answers with ${JSON.stringify(fingerprint.slice(0, 80))}`,
      );
    }
    const expiresAt = textOf(image['expires_at']);
    return {
      fingerprint,
      filename: textOf(image['filename']),
      properties: textsOf(image['properties']),
      aliases: aliasesOf(image),
      expiresAt: isTimestamp(expiresAt) ? expiresAt : undefined,
      fetch: (target, report, fetchSignal) =>
        withConnection(options, (own) =>
          fetchImage(
            own,
            options,
            {
              server,
              fingerprint,
              query: { secret: wanted.secret, project: wanted.project },
              sizeBytes: sizeOf(image['size']),
              target,
              report,
            },
            fetchSignal,
          ),
        ),
    };
  });
}

const isTimestamp = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/.test(text) && !Number.isNaN(Date.parse(text));

const imagePath = (fingerprint: string): string => `/1.0/images/${encodeURIComponent(fingerprint)}`;

type Query = Readonly<Record<'secret' | 'project', string>>;

function addressOf(server: string, path: string, query: Query): URL {
  const address = new URL(`${server.replace(/\/+$/, '')}${path}`);
  for (const [key, value] of Object.entries(query)) if (value !== '') address.searchParams.set(key, value);
  return address;
}

/** The requested fingerprint, or a prefix of one. A name that is no alias may be a fingerprint, as in LXD. */
async function targetOf(
  ask: (path: string) => Promise<JsonMap>,
  server: string,
  wanted: ImageRequest,
): Promise<string> {
  if (wanted.alias === '') return wanted.fingerprint.toLowerCase();
  const path = `/1.0/images/aliases/${wanted.alias.split('/').map(encodeURIComponent).join('/')}`;
  const prefix = wanted.alias.toLowerCase();
  const isPrefix = /^[0-9a-f]{6,64}$/.test(prefix);
  const alias = await ask(path).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
    if (isPrefix) return { target: prefix };
    throw notThere(server, `alias ${wanted.alias}`, wanted, error);
  });
  const target = textOf(alias['target']);
  if (isFingerprint(target) || (isPrefix && target === prefix)) return target;
  throw driverErrors.invalid(`the alias ${wanted.alias} on ${server} names no image`);
}

const isMissing = (error: unknown): boolean => error instanceof DriverError && error.code === 'NotFound';

function notThere(server: string, what: string, { secret }: ImageRequest, cause: unknown): DriverError {
  const hint =
    secret === '' ? ', or is private: a private image needs a secret' : ', or the secret is not valid for it';
  return driverErrors.notFound(`there is no image with ${what} on ${server}${hint}`, cause);
}

function aliasesOf(image: JsonMap): RemoteImage['aliases'] {
  return listOf(image['aliases'])
    .map((alias) => ({ name: textOf(mapOf(alias)['name']), description: textOf(mapOf(alias)['description']) }))
    .filter(({ name }) => name !== '')
    .slice(0, maxAliases);
}

interface ImageOnServer {
  readonly server: string;
  readonly fingerprint: string;
  readonly query: Query;
  readonly sizeBytes: number | undefined;
  readonly target: ImageTarget;
  readonly report: (progress: string) => void;
}

async function fetchImage(
  connection: RemoteConnection,
  { limits }: ConnectionOptions,
  { server, fingerprint, query, sizeBytes, target, report }: ImageOnServer,
  signal: AbortSignal,
): Promise<{ readonly split: boolean }> {
  const free = await requireRoom(target.metadataPath, sizeBytes ?? 0);
  const address = addressOf(server, `${imagePath(fingerprint)}/export`, query);
  const answer = await connection.open('GET', address, {}, signal);
  if (answer.status !== 200) {
    answer.body.on('error', () => {}).destroy();
    throw refusal(address, answer.status, '');
  }
  const contentType = single(answer.headers['content-type']) ?? '';
  const split = contentType.toLowerCase().startsWith('multipart/form-data');
  const measured = meter({
    take: target.take,
    what: `the image from ${server}`,
    expectedBytes: sizeBytes,
    maxBytes: (sizeBytes ?? free) + (split ? framingBytes : 0),
    limits,
    report,
  });
  const hash = createHash('sha256');
  if (split) await saveParts({ body: answer.body, contentType, from: shown(address) }, target, hash, measured, signal);
  else await saveStream(measured(answer.body), target.metadataPath, [hash], signal);
  checkFingerprint(server, fingerprint, hash.digest('hex'));
  return { split };
}
