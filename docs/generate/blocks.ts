// Pages with generated parts: what stands between `<!-- generated: NAME -->` and `<!-- end -->` is replaced by the block of that name.
import { errorTable, statusIn, type ErrorCode } from '../../server/api/errors.ts';
import { lxdExtensions, lxdNames, servedExtensions, unservedExtensions } from '../../server/api/server/extensions.ts';
import { warningTypes } from '../../server/api/server/warning-types.ts';
import { daemonUsage } from '../../server/daemon/daemon-command.ts';
import { controllerKeysBlock } from './controller-keys.ts';
import { extensionRows } from './extension-rows.ts';
import { code, table } from './markdown.ts';
import { lxcVerbsBlock } from './lxc-verbs.ts';
import { lxdClientsBlock } from './lxd-clients.ts';
import { referenceBlocks } from './reference.ts';
import { verbBlocks } from './verbs.ts';

const marked = /(<!-- generated: ([^>]+) -->\n)[\s\S]*?(<!-- end -->)/g;

export function allBlocks(): ReadonlyMap<string, string> {
  return new Map([
    ...referenceBlocks(),
    ...verbBlocks(),
    ['lxc verbs', lxcVerbsBlock()],
    ['lxd clients', lxdClientsBlock()],
    ['controller keys', controllerKeysBlock()],
    ['errors', errorsBlock()],
    ['extensions', extensionsBlock()],
    ['unserved extensions', unservedBlock()],
    ['warnings', warningsBlock()],
    ['gantryd', `\`\`\`\n${daemonUsage.trimEnd()}\n\`\`\``],
  ]);
}

/** The page with every generated part as it is now. */
export function withBlocks(page: string, blocks: ReadonlyMap<string, string>): string {
  return page.replaceAll(marked, (_all, begin: string, name: string, end: string) => {
    const block = blocks.get(name);
    if (block === undefined) throw new Error(`no generated block is called ${name}`);
    return `${begin}\n${block}\n\n${end}`;
  });
}

export const blockNames = (page: string): readonly string[] =>
  [...page.matchAll(marked)].map((match) => match[2] ?? '');

function errorsBlock(): string {
  const rows = (Object.keys(errorTable) as ErrorCode[]).map((name) => [
    code(name),
    String(statusIn('svc', name)),
    String(statusIn('lxd', name)),
    errorTable[name].doc,
  ]);
  return table(['code', 'HTTP', 'HTTP for clients of LXD', 'when'], rows);
}

/** `NAME`, and its name for clients of LXD where that is another. */
function extensionsBlock(): string {
  const rows = Object.entries(extensionRows).map(([name, [source, test]]) => [
    code(name),
    servedExtensions.includes(name) ? code(name) : '',
    lxdExtensions.includes(lxdNames[name] ?? name) ? code(lxdNames[name] ?? name) : '',
    `${code(`server/${source}`)}, ${code(`test/${test}`)}`,
  ]);
  return table(['extension', 'advertised', 'to clients of LXD', 'source, and the test that shows it'], rows);
}

function warningsBlock(): string {
  const rows = Object.values(warningTypes).map(({ text, severity, seen, over }) => [text, severity, seen, over]);
  return table(['type', 'severity', 'seen when', 'resolved when'], rows);
}

function unservedBlock(): string {
  return table(
    ['extension', 'why not'],
    Object.entries(unservedExtensions).map(([name, reason]) => [code(name), reason]),
  );
}
