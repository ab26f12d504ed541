// Chooses the hosts of the hosts file for a command: those of --host and --selector, in the order of the file.
import { matchesHost, parseHostPattern, unknownNameIn, type HostPattern } from '../../core/documents/host-pattern.ts';
import { matchesSelector } from '../../core/documents/label-selector.ts';
import type { Host } from '../../manifest/hosts-file.ts';
import type { Context, Fleet } from '../session/context.ts';
import { noneSelected, readSelector } from '../flags/label-options.ts';
import type { HostOptions, SelectorOptions } from '../flags/host-flags.ts';
import type { ManifestOptions } from '../flags/manifest-flags.ts';
import { parsePairs } from '../flags/parse-values.ts';
import { throwOnErrors } from '../session/load-set.ts';
import { usageError } from '../errors/usage-error.ts';

type ChoosingOptions = HostOptions & SelectorOptions & Pick<ManifestOptions, 'var'>;

export async function chooseHosts(context: Context<ChoosingOptions>): Promise<Fleet> {
  const { hosts: file = '', embedded } = context.options;
  if (embedded !== undefined) throw usageError('--embedded and --hosts cannot be used together');
  const { readHostsFile } = await import('../../manifest/hosts-file.ts');
  const given = new Map(Object.entries(parsePairs('--var', context.options.var)));
  const { hosts: all, diagnostics } = await readHostsFile(file, given, context.stop);
  await context.diagnostics(diagnostics);
  throwOnErrors(diagnostics, [file]);
  return { all, chosen: chosenOf(context, all) };
}

function chosenOf({ options }: Context<ChoosingOptions>, all: readonly Host[]): readonly Host[] {
  const patterns = (options.host ?? []).flatMap(wordsOf).map((word) => patternOf(word, all));
  const selector = options.selector === undefined ? undefined : readSelector('--selector', options.selector);
  const named = patterns.length === 0 ? all : all.filter((host) => patterns.some((one) => matchesHost(one, host)));
  const chosen = selector === undefined ? named : named.filter(({ labels }) => matchesSelector(selector, labels));
  if (chosen.length === 0)
    throw noneSelected(
      'host',
      all.map(({ labels }) => labels),
    );
  return chosen;
}

/** `web1,web2` are two; the commas of `role=web,env!=test` belong to it. */
const wordsOf = (text: string): readonly string[] =>
  (/[=!(]/.test(text) ? [text] : text.split(',')).map((word) => word.trim()).filter((word) => word !== '');

function patternOf(word: string, all: readonly Host[]): HostPattern {
  const pattern = parseHostPattern(word);
  if (typeof pattern === 'string') throw usageError(`--host ${JSON.stringify(word)}: ${pattern}`);
  const strange = unknownNameIn(pattern, all);
  if (strange !== undefined) throw usageError(`--host: ${strange}`);
  return pattern;
}
