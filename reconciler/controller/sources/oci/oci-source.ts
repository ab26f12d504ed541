// An OCI artefact as a source: one packed file tree in a registry, as Flux and ORAS push it. The digest of the manifest is the revision.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Dispatcher } from 'undici';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { type Checkout, type Source, type SourceRevision, type Verification, sourceErrors } from '../source.ts';
import type { OciSettings } from '../source-schema.ts';
import type { SourceContext } from '../source-context.ts';
import { unpack } from '../archive/unpack.ts';
import { keptFiles, type KeptFiles } from '../files/kept-files.ts';
import { tooLarge } from '../files/limits.ts';
import { bounded, dispatcherFor } from '../http/download.ts';
import { keep } from '../http/keep.ts';
import { readCosignKey, signerOf } from './cosign.ts';
import { layerOf, readOciReference } from './oci-reference.ts';
import { openRegistry, type Registry } from './registry.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

interface Fetched {
  readonly revision: string;
  /** The name of the key that signed it; absent when no signature is asked for. */
  readonly signer?: string;
}

export class OciSource implements Source {
  readonly name: string;
  readonly kind = 'oci';
  readonly url: string;
  readonly #settings: OciSettings;
  readonly #context: SourceContext;
  readonly #reference: ReturnType<typeof readOciReference>;
  /** The only digest that may be used. */
  readonly #pinned: string | undefined;
  readonly #files: KeptFiles;
  #last: SourceRevision | undefined;

  /** Throws SourceError refused for settings that contradict each other. */
  constructor(name: string, settings: OciSettings, context: SourceContext) {
    const reference = readOciReference(settings.ref);
    if (settings.digest !== undefined && reference.digest !== undefined && settings.digest !== reference.digest)
      throw sourceErrors.refused(`source ${name}: ref and digest name different digests`);
    this.name = name;
    this.url = `${reference.registry}/${reference.repository}`;
    this.#settings = settings;
    this.#context = context;
    this.#reference = reference;
    this.#pinned = settings.digest ?? reference.digest;
    const shown = `${this.url}:${reference.reference}`;
    this.#files = keptFiles(name, settings, context, { noun: 'artefact', shown, id: this.url });
  }

  check(signal?: AbortSignal): Promise<SourceRevision> {
    return this.#action('the check', signal, async (registry, limited) => {
      const [last, pinned] = [this.#last, this.#pinned];
      // Keys may have changed, so an artefact that must be signed is verified at each check.
      const isSettled = this.#settings.verify === undefined && last !== undefined && last.revision === pinned;
      if (isSettled && (await this.#files.checkouts.find(last.revision)) !== undefined) return last;
      const { reference } = this.#reference;
      const fetched = await this.#fetch(registry, pinned ?? reference, pinned, limited);
      const verified = this.#verification(fetched);
      if (last?.revision === fetched.revision && last.verified?.key === verified?.key) return last;
      const shown = verified === undefined ? {} : { verified };
      return (this.#last = { revision: fetched.revision, at: this.#context.now(), reference, ...shown });
    });
  }

  async checkout(revision: string, signal?: AbortSignal): Promise<Checkout> {
    const { what, checkouts } = this.#files;
    const there = await checkouts.find(revision);
    if (there !== undefined) return { dir: there };
    if (!/^sha256:[0-9a-f]{64}$/.test(revision))
      throw sourceErrors.notFound(`${what}: ${JSON.stringify(revision)} is no digest`);
    await this.#action('the checkout', signal, (registry, limited) =>
      this.#fetch(registry, revision, revision, limited),
    );
    const dir = await checkouts.find(revision);
    if (dir === undefined) throw sourceErrors.notFound(`${what} has no files of ${revision}`);
    return { dir };
  }

  keepOnly(revisions: ReadonlySet<string>): Promise<void> {
    const { action, checkouts } = this.#files;
    return action('the deletion of old files', undefined, () => checkouts.keepOnly(revisions));
  }

  #action<T>(
    name: string,
    signal: AbortSignal | undefined,
    work: (registry: Registry, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { credentials, insecure: isInsecure = false } = this.#settings;
    const { absolute } = this.#context;
    return this.#files.action(name, signal, async (limited) => {
      const dispatcher: Dispatcher = await dispatcherFor(credentials, absolute);
      try {
        const { what } = this.#files;
        return await work(
          await openRegistry({ ...this.#reference, what, dispatcher, isInsecure, credentials, absolute }),
          limited,
        );
      } finally {
        await dispatcher.destroy();
      }
    });
  }

  /** Fetches the manifest of a tag or digest and, unless its files are here, its layer. */
  async #fetch(registry: Registry, wanted: string, digest: string | undefined, signal: AbortSignal): Promise<Fetched> {
    const { what, path, limits, folder, checkouts } = this.#files;
    const text = await registry.manifest(wanted, signal);
    const revision = `sha256:${createHash('sha256').update(text).digest('hex')}`;
    if (digest !== undefined && revision !== digest)
      throw sourceErrors.unverified(
        `${what} is not used: the digest of its manifest is ${revision}, and ${digest} is wanted`,
      );
    const signer = await this.#signedBy(registry, revision, signal);
    const found = { revision, ...withoutUndefined({ signer }) };
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
  }

  async #signedBy(registry: Registry, digest: string, signal: AbortSignal): Promise<string | undefined> {
    const { verify } = this.#settings;
    if (verify === undefined) return undefined;
    const { what } = this.#files;
    const keys = await Promise.all(
      verify.cosign.map(async (path) => readCosignKey(path, await readKey(this.#context.absolute(path)))),
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
  }

  #verification({ signer }: Fetched): Verification | undefined {
    if (signer !== undefined) return { by: 'cosign', key: signer };
    return this.#pinned === undefined ? undefined : { by: 'digest', key: this.#pinned };
  }
}

const maxStatement = 64 * 1024;

const readKey = (file: string): Promise<string> =>
  readFile(file, 'utf8').catch((error: unknown) => {
    throw sourceErrors.unavailable(`cannot read a key of verify.cosign: ${reasonOf(error)}`, { cause: error });
  });
