// Rewrites a command line before it is parsed: flags that users of other tools type, and flags and variables from the environment.
// Pure; the caller changes the directory.
import { arrangeWords, namesOf, type KnownVerbs } from './arrange-words.ts';
import { usageError } from '../errors/usage-error.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Verbs whose `--all` of lxc is a pattern here. */
const ofAll = new Set(['start', 'stop', 'restart', 'pause']);

const renamed: Readonly<Record<string, string>> = { '--remote': '--host', '--field-manager': '--set' };

export interface CommandLine {
  readonly argv: readonly string[];
  /** `-chdir=DIR` before the verb, as in Terraform. */
  readonly directory?: string;
}

/** Leaves everything after `--` alone. */
export function readCommandLine(argv: readonly string[], env: Env, known: KnownVerbs): CommandLine {
  const chdir = /^--?chdir=(.+)$/.exec(argv[0] ?? '')?.[1];
  const rest = chdir === undefined ? argv : argv.slice(1);
  const { verb, rest: given } = arrangeWords(rest, known);
  const end = given.includes('--') ? given.indexOf('--') : given.length;
  const flags = known.verbs.find((one) => namesOf(one).includes(verb.join(' ')))?.flags ?? {};
  const words = given.map((word, index) => (index < end ? translatedWord(word, verb[0] ?? '', flags) : word));
  return {
    argv: [...verb, ...environmentFlags(verb[0], env), ...words],
    ...withoutUndefined({ directory: chdir }),
  };
}

function translatedWord(word: string, verb: string, flags: object): string {
  if (word === '--all' && ofAll.has(verb)) return '*';
  const [flag = '', ...value] = word.split('=');
  const isFormat = flag === '--format' && 'output' in flags && !('format' in flags);
  const name = isFormat ? '--output' : Object.hasOwn(renamed, flag) ? renamed[flag] : undefined;
  if (flag === '--refresh-only')
    throw usageError(
      'there is no --refresh-only: gantry keeps no state to refresh; gantry drift shows what changed, and only reads',
    );
  return name === undefined ? word : [name, ...value].join('=');
}

/** GANTRY_CLI_ARGS for every verb, GANTRY_CLI_ARGS_plan for one; separated by blanks. */
function environmentFlags(verb: string | undefined, env: Env): readonly string[] {
  if (verb === undefined) return [];
  const texts = [env['GANTRY_CLI_ARGS'], env[`GANTRY_CLI_ARGS_${verb.replaceAll('-', '_')}`]];
  return texts.flatMap((text) => (text ?? '').split(/\s+/)).filter((word) => word !== '');
}

const variable = /^GANTRY_VAR_(.+)$/;

/** GANTRY_VAR_NAME: variables that every other source overrides. */
export const environmentVariables = (env: Env): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(env).flatMap(([key, value]) => {
      const name = variable.exec(key)?.[1];
      return name === undefined || value === undefined ? [] : [[name, value]];
    }),
  );

/** Adds flags that the environment sets. */
export function withEnvironment<
  T extends { readonly project?: string | undefined; readonly parallelism?: string | undefined },
>(options: T, env: Env): T {
  const { GANTRY_PROJECT: project, GANTRY_PARALLELISM: parallelism } = env;
  return {
    ...options,
    ...(options.project === undefined && project !== undefined && project !== '' ? { project } : {}),
    ...(options.parallelism === undefined && parallelism !== undefined && parallelism !== '' ? { parallelism } : {}),
  };
}
