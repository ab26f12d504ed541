// The manual pages, from the tables that the programs themselves read: verbs and flags, the usage of gantryd, the keys of gantry.yaml. Pure.
import type { Flag } from '../../reconciler/cli/flags/flag.ts';
import { outputFlags } from '../../reconciler/cli/flags/output-flags.ts';
import type { Verb } from '../../reconciler/cli/flags/verb.ts';
import { verbs } from '../../reconciler/cli/program/verbs.ts';
import { version } from '../../server/api/version.ts';
import { daemonUsage } from '../../server/daemon/daemon-command.ts';
import { controllerKeyRows } from './controller-keys.ts';
import { visible } from './verbs.ts';

/** Path below the folder of manual pages to text: `man1/gantry-apply.1`. */
export function manPages(): ReadonlyMap<string, string> {
  const declared = Object.values(verbs)
    .flat()
    .map(({ verb }) => verb);
  return new Map([
    ['man1/gantry.1', programPage()],
    ...declared.map((verb) => [`man1/${pageName(verb)}.1`, verbPage(verb)] as const),
    ['man5/gantry.yaml.5', controllerFilePage()],
    ['man8/gantryd.8', daemonPage()],
  ]);
}

const pageName = ({ name }: Verb): string => `gantry-${name.replaceAll(' ', '-')}`;

function programPage(): string {
  const sections = Object.entries(verbs).flatMap(([title, rows]) => [
    `.SS ${plain(title.replace(/:$/, ''))}`,
    ...rows.flatMap(({ verb }) => term(`\\fB${plain(pageName(verb))}\\fR(1)`, sentence(verb.summary))),
  ]);
  return page('gantry', 1, 'declare containers, networks, profiles, storage pools and images, and make hosts match', [
    '.SH SYNOPSIS',
    '.B gantry',
    '.I command',
    '.RI [ options ]',
    '.SH DESCRIPTION',
    plain(
      'Manifests in YAML declare objects of a host. gantry plan shows what differs, gantry apply makes the host match.',
    ),
    '.SH COMMANDS',
    ...sections,
    '.SH SEE ALSO',
    '.BR gantryd (8),',
    '.BR gantry.yaml (5)',
  ]);
}

function verbPage(verb: Verb): string {
  const { name, alias, summary, args = [], flags, examples = [] } = verb;
  const options = [...Object.values<Flag>(flags), ...Object.values<Flag>(outputFlags)].flatMap(visible);
  return page(pageName(verb), 1, summary, [
    '.SH SYNOPSIS',
    `.B ${plain(`gantry ${name}`)}`,
    '.RI [ options ]',
    ...args.map(([written]) => plain(written)),
    '.SH DESCRIPTION',
    `${plain(sentence(summary))}${alias === undefined ? '' : plain(` Also called gantry ${name.replace(/\S+$/, alias)}.`)}`,
    ...(args.length === 0
      ? []
      : ['.SH ARGUMENTS', ...args.flatMap(([written, doc = '']) => term(plain(written), sentence(doc)))]),
    '.SH OPTIONS',
    ...options.flatMap(({ written, doc }) => term(`\\fB${plain(written)}\\fR`, sentence(doc))),
    ...(examples.length === 0 ? [] : ['.SH EXAMPLES', '.nf', ...examples.map(plain), '.fi']),
    '.SH SEE ALSO',
    '.BR gantry (1)',
  ]);
}

function daemonPage(): string {
  const [usage = '', rest = ''] = daemonUsage.split(/\n\n([\s\S]*)/);
  const [description = '', options = ''] = rest.split('Options:\n');
  const lines = usage.replace(/^Usage: /, '').split('\n');
  return page('gantryd', 8, 'the daemon: a REST API over containers of this host', [
    '.SH SYNOPSIS',
    '.nf',
    ...lines.map((line) => plain(line.trim())),
    '.fi',
    '.SH DESCRIPTION',
    ...paragraphs(description),
    '.SH OPTIONS',
    ...options.split('\n').flatMap((line) => {
      const [, flag, doc] = /^ {2}(--.*?) {2,}(.*)$/.exec(line) ?? [];
      return flag === undefined ? paragraphs(line) : term(`\\fB${plain(flag)}\\fR`, sentence(doc ?? ''));
    }),
    '.SH SEE ALSO',
    '.BR gantry (1)',
  ]);
}

const paragraphs = (text: string): readonly string[] =>
  text.trim() === ''
    ? []
    : text
        .trim()
        .split('\n')
        .flatMap((line) => (line === '' ? ['.PP'] : [plain(line)]));

function controllerFilePage(): string {
  return page('gantry.yaml', 5, 'configuration of gantry controller', [
    '.SH DESCRIPTION',
    plain(
      'gantry controller reads gantry.yaml: hosts, sources of manifests, sets, notifications and its HTTP API. These are its keys.',
    ),
    '.SH KEYS',
    ...controllerKeyRows().flatMap(([key = '', type = '', meaning = '']) =>
      term(`\\fB${plain(unmarked(key))}\\fR (${plain(unmarked(type))})`, unmarked(meaning)),
    ),
    '.SH SEE ALSO',
    '.BR gantry-controller (1)',
  ]);
}

/** Without the marks of Markdown. */
const unmarked = (text: string): string =>
  text
    .replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1')
    .replaceAll('`', '')
    .replaceAll(String.raw`\|`, '|');

function page(name: string, section: number, summary: string, body: readonly string[]): string {
  return [
    `.TH "${plain(name.toUpperCase())}" ${section} "" "Gantry ${plain(version)}"`,
    '.SH NAME',
    `${plain(name)} \\- ${plain(summary)}`,
    ...body,
    '',
  ].join('\n');
}

const term = (title: string, text: string): readonly string[] => ['.TP', title, text === '' ? '\\&' : plain(text)];

const sentence = (text: string): string =>
  text === '' ? '' : `${text.slice(0, 1).toUpperCase()}${text.slice(1).replace(/\.$/, '')}.`;

/** Text for roff: no request at the start of a line, hyphens that can be copied. */
function plain(text: string): string {
  const escaped = text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll('\n', ' ');
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped;
}
