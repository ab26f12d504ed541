// An OCI artefact as a source: one packed file tree in a registry, as Flux and ORAS push it. The digest of the manifest is the revision.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Dispatcher } from 'undici';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { type Source, type SourceRevision, type Verification, sourceErrors } from '../source.ts';
import type { OciSettings } from '../source-schema.ts';
import type { SourceContext } from '../source-context.ts';
import { unpack } from '../archive/unpack.ts';
import { keptFiles } from '../files/kept-files.ts';
import { tooLarge } from '../files/limits.ts';
import { bounded, dispatcherFor } from '../http/download.ts';
import { keep } from '../http/keep.ts';
import { readCosignKey, signerOf } from './cosign.ts';
import { layerOf, readOciReference } from './oci-reference.ts';
import { openRegistry, type Registry } from './registry.ts';

export function openOciSource(name: string, settings: OciSettings, context: SourceContext): Source {
  const reference = readOciReference(settings.ref);
  const pinned = settings.digest ?? reference.digest;
  if (settings.digest !== undefined && reference.digest !== undefined && settings.digest !== reference.digest) {
    throw sourceErrors.refused(`source ${name}: ref and digest name different digests`);
  }
  const shown = `${reference.registry}/${reference.repository}`;
  const { what, path, limits, folder, checkouts, action } = keptFiles(name, settings, context, {
    noun: 'artefact',
    shown: `${shown}:${reference.reference}`,
    id: shown,
  });
  let last: SourceRevision | undefined;

  /** The name of the key that signed it; undefined when no signature is asked for. */
  const signedBy = async (registry: Registry, digest: string, signal: AbortSignal): Promise<string | undefined> => {
    if (settings.verify === undefined) return undefined;
    const keys = await Promise.all(
      settings.verify.cosign.map(async (path) => readCosignKey(path, await readKey(context.absolute(path)))),
    );
    const reader = {
      manifest: (tag: string) => registry.manifest(tag, signal),
      blob: async (wanted: string) => {
        const bytes = await bounded(await registry.blob(wanted, signal), maxStatement, `${what}: a signature`);
        // A registry could send another statement than the signed one.
        return `sha256:${createHash('sha256').update(bytes).digest('hex')}` === wanted ? bytes : Buffer.alloc(0);
      },
    };
    return (await signerOf(digest, keys, reader, what)).name;
  };

  const withRegistry = async <T>(work: (registry: Registry) => Promise<T>): Promise<T> => {
    const dispatcher: Dispatcher = await dispatcherFor(settings.credentials, context.absolute);
    try {
      return await work(
        await openRegistry({
          ...reference,
          what,
          dispatcher,
          isInsecure: settings.insecure ?? false,
          credentials: settings.credentials,
          absolute: context.absolute,
        }),
      );
    } finally {
      await dispatcher.destroy();
    }
  };
  /** Fetches the manifest of a tag or digest and, unless its files are here, its layer. */
  const fetchNow = async (
    registry: Registry,
    wanted: string,
    digest: string | undefined,
    signal: AbortSignal,
  ): Promise<{ readonly revision: string; readonly signer?: string }> => {
    const text = await registry.manifest(wanted, signal);
    const revision = `sha256:${createHash('sha256').update(text).digest('hex')}`;
    if (digest !== undefined && revision !== digest) {
      throw sourceErrors.unverified(
        `${what} is not used: the digest of its manifest is ${revision}, and ${digest} is wanted`,
      );
    }
    const signer = await signedBy(registry, revision, signal);
    const found = { revision, ...(signer === undefined ? {} : { signer }) };
    if ((await checkouts.find(revision)) !== undefined) return found;
    const layer = layerOf(text.toString('utf8'), what);
    if (layer.size > limits.bytes) throw tooLarge(what, limits);
    const file = join(folder, 'download');
    try {
      await keep(await registry.blob(layer.digest, signal), file, { what, limits, digest: layer.digest });
      await checkouts.make(revision, (dir) => unpack(createReadStream(file), { path, what, limits }, dir, signal));
    } finally {
      await rm(file, { force: true });
    }
    return found;
  };

  return {
    name,
    kind: 'oci',
    url: shown,
    check: (signal) =>
      action('the check', signal, (limited) =>
        withRegistry(async (registry) => {
          // Keys may have changed, so an artefact that must be signed is verified at each check.
          const isSettled = settings.verify === undefined && last !== undefined && last.revision === pinned;
          if (isSettled && last !== undefined && (await checkouts.find(last.revision)) !== undefined) return last;
          const { revision, signer } = await fetchNow(registry, pinned ?? reference.reference, pinned, limited);
          const verified: Verification | undefined =
            signer !== undefined
              ? { by: 'cosign', key: signer }
              : pinned === undefined
                ? undefined
                : { by: 'digest', key: pinned };
          if (last?.revision === revision && last.verified?.key === verified?.key) return last;
          const shownBy = verified === undefined ? {} : { verified };
          last = { revision, at: context.now(), reference: reference.reference, ...shownBy };
          return last;
        }),
      ),
    async checkout(revision, signal) {
      const there = await checkouts.find(revision);
      if (there !== undefined) return { dir: there };
      if (!/^sha256:[0-9a-f]{64}$/.test(revision))
        throw sourceErrors.notFound(`${what}: ${JSON.stringify(revision)} is no digest`);
      await action('the checkout', signal, (limited) =>
        withRegistry((registry) => fetchNow(registry, revision, revision, limited)),
      );
      const dir = await checkouts.find(revision);
      if (dir === undefined) throw sourceErrors.notFound(`${what} has no files of ${revision}`);
      return { dir };
    },
    keepOnly: (revisions) => action('the deletion of old files', undefined, () => checkouts.keepOnly(revisions)),
  };
}

const maxStatement = 64 * 1024;

const readKey = (file: string): Promise<string> =>
  readFile(file, 'utf8').catch((error: unknown) => {
    throw sourceErrors.unavailable(`cannot read a key of verify.cosign: ${reasonOf(error)}`, { cause: error });
  });
