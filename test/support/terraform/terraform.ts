// Real Terraform in a separate directory, with this provider from a mirror that is made for the test run.
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { gantryProvider, providerSource } from '../../../provider/gantry.ts';
import { bundleProvider } from '../../../provider/packaging/bundle.ts';
import { releaseFiles, writeRelease } from '../../../provider/packaging/release.ts';
import { copyBuilt, keepBuilt } from '../built-once.ts';
import { repository, runProcess, type Ran } from '../cli/programs.ts';
import { programRuns } from '../hosts/program-runs.ts';
import { tempFolder } from '../temp-folder.ts';
import { pluginHere, reattached } from './plugin-here.ts';

/** The reason why Terraform cannot run here; printed once a test file. */
export function terraformMissing(what: string): string | undefined {
  const runs = programRuns(['terraform', 'version'], { CHECKPOINT_DISABLE: '1' });
  const missing = runs ? undefined : 'terraform is not on the PATH';
  if (missing !== undefined) console.log(`skipped: ${what}, since ${missing}`);
  return missing;
}

export interface Release {
  /** Zips, sums, manifest, mirror/. */
  readonly directory: string;
  readonly version: string;
}

export async function makeRelease(): Promise<Release> {
  const directory = tempFolder('gtf-release-');
  const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { version: string };
  if (!copyBuilt('release', directory)) {
    const license = readFileSync(join(repository, 'LICENSE'));
    writeRelease(releaseFiles({ version, license, programs: await bundleProvider(repository) }), directory);
    keepBuilt('release', directory);
  }
  return { directory, version };
}

/** The provider inside this process, to which Terraform attaches: no start, no TLS, no installation. */
export interface Attached {
  readonly env: Readonly<Record<string, string>>;
  stop(): void;
}

export async function serveHere(): Promise<Attached> {
  const plugin = await pluginHere(gantryProvider({ env: {}, log() {} }));
  return {
    env: { TF_REATTACH_PROVIDERS: JSON.stringify(reattached(providerSource, plugin)) },
    stop: () => plugin.stop(),
  };
}

export interface TerraformOptions {
  /** The address of the daemon: `unix:///...`. */
  readonly address?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Packages as zips instead of unpacked. */
  readonly packed?: boolean;
}

const required = 'terraform {\n  required_providers {\n    gantry = { source = "gantry/gantry" }\n  }\n}\n';

/** The output of a run, without colours and the blank lines around. */
export interface TerraformRan extends Ran {
  readonly output: string;
}

/** One working directory. It destroys nothing by itself. */
export class Terraform {
  readonly dir = tempFolder('gtf-');
  readonly env: Record<string, string>;

  readonly #address: string | undefined;

  /** A provider from a release has to be installed by `init`; an attached one needs no installation. */
  constructor(from: Release | Attached, options: TerraformOptions = {}) {
    const rc = join(this.dir, 'rc.hcl');
    writeFileSync(rc, 'env' in from ? '' : this.#mirrorConfig(from, options));
    this.#address = options.address;
    this.env = {
      ...('env' in from ? from.env : {}),
      TF_CLI_CONFIG_FILE: rc,
      CHECKPOINT_DISABLE: '1',
      // A run is over before it has garbage worth collecting: a quarter of the processor time of a plan.
      GOGC: 'off',
      GOMEMLIMIT: '512MiB',
      TF_IN_AUTOMATION: '1',
      ...(options.address === undefined ? {} : { GANTRY_ADDRESS: options.address }),
      ...options.env,
    };
  }

  #mirrorConfig(release: Release, { packed }: TerraformOptions): string {
    const mirror = packed === true ? this.#packedMirror(release) : join(release.directory, 'mirror');
    return `provider_installation {\n  filesystem_mirror {\n    path = ${JSON.stringify(mirror)}\n  }\n}\n`;
  }

  #packedMirror(release: Release): string {
    const folder = join(this.dir, 'packed/registry.terraform.io/gantry/gantry');
    mkdirSync(folder, { recursive: true });
    const name = `terraform-provider-gantry_${release.version}_linux_amd64.zip`;
    writeFileSync(join(folder, name), readFileSync(join(release.directory, name)));
    return join(this.dir, 'packed');
  }

  /** Replaces the whole configuration. The provider block is added unless the text has one. */
  write(hcl: string): void {
    // An attached one has our environment, not Terraform's.
    const address =
      this.#address === undefined || !('TF_REATTACH_PROVIDERS' in this.env) ? '' : `\n  address = "${this.#address}"\n`;
    const provider = hcl.includes('provider "gantry"') ? '' : `provider "gantry" {${address}}\n`;
    writeFileSync(join(this.dir, 'main.tf'), `${required}${provider}${hcl}`);
  }

  async run(
    args: readonly string[],
    more: {
      readonly started?: (child: ChildProcess) => void;
      readonly heard?: (text: string, child: ChildProcess) => void;
    } = {},
  ): Promise<TerraformRan> {
    const plain = ['version', 'state', 'providers'].includes(args[0] ?? '');
    const words = plain ? args : [args[0] ?? '', '-no-color', ...args.slice(1)];
    const ran = await runProcess(['terraform', ...words], { cwd: this.dir, env: this.env, ...more });
    return { ...ran, output: `${ran.stdout}${ran.stderr}` };
  }

  async #good(args: readonly string[]): Promise<string> {
    const { code, output } = await this.run(args);
    expect(code, `terraform ${args.join(' ')}\n${output}`).toBe(0);
    return output;
  }

  init = (): Promise<string> => this.#good(['init', '-input=false']);
  apply = (...more: string[]): Promise<string> => this.#good(['apply', '-auto-approve', '-input=false', ...more]);
  destroy = (...more: string[]): Promise<string> => this.#good(['destroy', '-auto-approve', '-input=false', ...more]);
  import = (address: string, id: string): Promise<string> => this.#good(['import', '-input=false', address, id]);
  forget = (...addresses: string[]): Promise<string> => this.#good(['state', 'rm', ...addresses]);

  /** Exit code 2 of -detailed-exitcode: there are changes. */
  async plan(...more: string[]): Promise<{ readonly changes: boolean; readonly output: string }> {
    const { code, output } = await this.run(['plan', '-detailed-exitcode', '-input=false', ...more]);
    expect([0, 2], output).toContain(code);
    return { changes: code === 2, output };
  }

  async expectNoChanges(): Promise<void> {
    const { changes, output } = await this.plan();
    expect(changes, output).toBe(false);
  }

  /** Applies; the plan after that is empty. */
  async settle(): Promise<string> {
    const said = await this.apply();
    await this.expectNoChanges();
    return said;
  }

  /** The error message of a terraform run that must fail, in one line. */
  async fails(...args: string[]): Promise<string> {
    const { code, output } = await this.run([...args]);
    expect(code, output).toBe(1);
    return output.replaceAll(/[\s│╷╵]+/g, ' ');
  }

  /** Attributes of a resource in the state, read from its file: Terraform would ask the provider for its schema first. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into it freely
  state(address: string): any {
    const isHere = (one: StoredResource, { index_key: key }: StoredInstance): boolean => {
      const parts = [one.module, one.mode === 'data' ? 'data' : undefined, one.type, one.name];
      return `${parts.filter(Boolean).join('.')}${key === undefined ? '' : `[${JSON.stringify(key)}]`}` === address;
    };
    const found = this.#stored().resources.flatMap((one) => one.instances.filter((each) => isHere(one, each)));
    return found[0]?.attributes;
  }

  outputs(): Readonly<Record<string, unknown>> {
    return Object.fromEntries(Object.entries(this.#stored().outputs).map(([name, { value }]) => [name, value]));
  }

  #stored(): StoredState {
    return JSON.parse(readFileSync(join(this.dir, 'terraform.tfstate'), 'utf8')) as StoredState;
  }
}

interface StoredInstance {
  readonly index_key?: string | number;
  readonly attributes: unknown;
}

interface StoredResource {
  readonly module?: string;
  readonly mode: 'managed' | 'data';
  readonly type: string;
  readonly name: string;
  readonly instances: readonly StoredInstance[];
}

interface StoredState {
  readonly outputs: Readonly<Record<string, { readonly value: unknown }>>;
  readonly resources: readonly StoredResource[];
}
