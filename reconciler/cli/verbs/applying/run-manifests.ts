// The manifests of `gantry run` as a source: each reading is a revision, of one host or of several.
import { createHash } from 'node:crypto';
import { loadedSet, type LoadedSet } from '../../../controller/sets/load-revision.ts';
import type { Host } from '../../../manifest/hosts-file.ts';
import { codeOf, messageOf } from '../../errors/error-outcome.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { CliError } from '../../errors/usage-error.ts';
import { stayingContext } from '../../hosts/host-context.ts';
import { loadHosts } from '../../hosts/load-hosts.ts';
import { jsonLine } from '../../output/render-json.ts';
import type { Fleet } from '../../session/context.ts';
import { hostOf } from '../../session/host.ts';
import { loadSet } from '../../session/load-set.ts';
import { readPins } from '../../session/lock-file.ts';
import { reportingOnce } from '../../watch/report-once.ts';
import type { RunContext } from './run-context.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

export interface HostManifests {
  readonly host: Host;
  readonly context: RunContext;
  readonly set: LoadedSet;
}

export class ManifestSource {
  readonly name = 'manifests';
  readonly kind = 'directory';
  readonly url = '.';
  /** Manifests from stdin cannot be read again. */
  readonly isReadOnce: boolean;
  readonly #context: RunContext;
  readonly #args: readonly string[];
  readonly #fleet: Fleet | undefined;
  readonly #fail: (error: unknown) => void;
  #latest: readonly HostManifests[] = [];
  #failure: unknown;

  /** `fail`: called with errors that editing the manifests cannot correct. */
  constructor(context: RunContext, args: readonly string[], fleet: Fleet | undefined, fail: (error: unknown) => void) {
    this.#context = reportingOnce(context);
    this.#args = args;
    this.#fleet = fleet;
    this.#fail = fail;
    this.isReadOnce = args.includes('-');
  }

  /** The manifests of the last read without errors; empty before it. */
  get latest(): readonly HostManifests[] {
    return this.#latest;
  }

  /** The error of the last read. */
  get failure(): unknown {
    return this.#failure;
  }

  /**
   * Manifests are read host by host, so a file that changes in between would be old for the first host and new for the last. Two
   * equal reads in a row show that no file changed.
   */
  async check(): Promise<{ readonly revision: string; readonly at: string }> {
    try {
      let found = await this.#read();
      if (this.#latest.length > 0 && revisionOf(found) !== revisionOf(this.#latest))
        for (let before = ''; before !== revisionOf(found); found = await this.#read()) before = revisionOf(found);
      this.#latest = found;
      return { revision: revisionOf(found), at: new Date(this.#context.io.nowMs()).toISOString() };
    } catch (error) {
      this.#failure = error;
      const isMistake = error instanceof CliError && codeOf(error) === exitCodes.error && !this.isReadOnce;
      if (this.#latest.length === 0 && !isMistake) this.#fail(error);
      throw error;
    }
  }

  /** Prints why the manifests cannot be read. */
  showError(why: string): void {
    const { io, json, note } = this.#context;
    const text =
      this.#latest.length === 0
        ? `Waiting for manifests without errors: ${messageOf(this.#failure)}. Retrying`
        : `Cannot read the manifests, so the last good ones stay in force: ${why}`;
    note(text);
    const fields = { diagnostic: { severity: 'warning', summary: why, detail: '' } };
    json(jsonLine('diagnostic', text, fields, io.nowMs(), 'warn'));
  }

  async #read(): Promise<readonly HostManifests[]> {
    const context = this.#context;
    const read =
      this.#fleet === undefined
        ? [{ host: ownHost(context), context, loaded: await loadSet(context, this.#args) }]
        : (await loadHosts(context, this.#fleet, this.#args)).map((one) => ({
            ...one,
            context: stayingContext(context, one.context, one.host),
          }));
    return Promise.all(
      read.map(async ({ host, context: own, loaded }) => {
        const pins = await readPins({ ...own, options: { ...own.options, lockFile: undefined } }, loaded.files);
        return { host, context: own, set: loadedSet(loaded, pins) };
      }),
    );
  }
}

const revisionOf = (hosts: readonly HostManifests[]): string =>
  createHash('sha256')
    .update(JSON.stringify(hosts.map(({ set }) => set.text)))
    .digest('hex');

function ownHost({ options, io }: RunContext): Host {
  const address = hostOf(options, io);
  const { project } = options;
  return { name: address, address, labels: {}, groups: [], vars: {}, ...withoutUndefined({ project }) };
}
