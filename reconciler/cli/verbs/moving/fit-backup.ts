// Fits the index of an LXD container backup to the target; passes the files unchanged.
import { Readable } from 'node:stream';
import { parse } from 'yaml';
import { withContent } from '../../../../server/lib/shared/tar-headers.ts';
import type { JsonObject } from '../../../core/documents/document.ts';
import { mapOf } from '../../../core/documents/json-values.ts';
import { type CliError, commandError } from '../../errors/usage-error.ts';
import type { ContainerMove } from './moves.ts';

const blockBytes = 512;
const indexName = 'backup/index.yaml';
/** Larger than the index of a thousand snapshots. */
const maxIndexBytes = 64 * 1024 * 1024;

/** `source`: an uncompressed tarball that begins with its index. */
export function fitBackup(source: Readable, move: Pick<ContainerMove, 'devices' | 'drops'>): Readable {
  return Readable.from(fitted(source, move), { objectMode: false });
}

async function* fitted(
  source: AsyncIterable<Buffer>,
  move: Pick<ContainerMove, 'devices' | 'drops'>,
): AsyncGenerator<Buffer> {
  let begun: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of source) {
    if (begun === undefined) {
      yield chunk;
      continue;
    }
    begun = Buffer.concat([begun, chunk]);
    const end = endOfIndex(begun);
    if (end === undefined || begun.length < end.padded) continue;
    yield withContent(begun.subarray(0, blockBytes), fitIndex(begun.toString('utf8', blockBytes, end.content), move));
    yield begun.subarray(end.padded);
    begun = undefined;
  }
  if (begun !== undefined) throw malformed('it ends too early');
}

/** Undefined: more has to be read. */
function endOfIndex(begun: Buffer): { readonly content: number; readonly padded: number } | undefined {
  if (begun.length < blockBytes) return undefined;
  const name = begun.toString('utf8', 0, 100).replace(/\0.*$/s, '');
  const size = Number.parseInt(begun.toString('latin1', 124, 136), 8);
  if (name !== indexName || !(size <= maxIndexBytes)) throw malformed(`it begins with ${JSON.stringify(name)}`);
  return { content: blockBytes + size, padded: blockBytes + Math.ceil(size / blockBytes) * blockBytes };
}

function fitIndex(text: string, { devices, drops }: Pick<ContainerMove, 'devices' | 'drops'>): Buffer {
  const index = parse(text) as JsonObject;
  const config = mapOf(index['config']);
  const container = mapOf(config['container']);
  const kept = Object.entries(mapOf(container['config'])).filter(([name]) => !drops.includes(name));
  const fits = { ...container, config: Object.fromEntries(kept), devices };
  // JSON is YAML.
  return Buffer.from(JSON.stringify({ ...index, config: { ...config, container: fits } }));
}

const malformed = (why: string): CliError =>
  commandError(`the backup of the source is not as LXD writes it: ${why}. Move without --exact`);
