// Adjusts the output of the generators: paths of files, unused files, one class name, and their mistakes about maps. Pure. Fails when a
// generator no longer writes the text that is adjusted here.

/** Path to content. */
export type Files = ReadonlyMap<string, string>;

/** Moves the provider's files to the top. Drops pages that only link to a registry, and the index that loads by `require`. */
export function adjustGenerated(written: Files, providerName: string): Files {
  const prefix = `providers/${providerName}/`;
  const files = [...written].flatMap(([path, text]) => {
    if (!path.startsWith(prefix)) throw new Error(`the generator wrote ${path}, which is not below ${prefix}`);
    const name = path.slice(prefix.length);
    const isUsed = name.endsWith('.ts') && name !== 'lazy-index.ts';
    return isUsed
      ? [[name, withOwnMaps(withQuotedKeys(name, withLaterVersions(withPlainName(name, text))))] as const]
      : [];
  });
  const adjusted = new Map(files.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  if (!adjusted.has('index.ts')) throw new Error('the generator wrote no index.ts');
  return adjusted;
}

/** Output that is kept for long also takes later providers: `~> 0.1` is 0.1 and newer, below 1.0. */
const withLaterVersions = (text: string): string =>
  text.replaceAll(/(providerVersionConstraint: ')(\d+\.\d+)\.[^']+'/g, "$1~> $2'");

/** Generators append an A to a resource that has the name of another resource's nested type, although each has its own namespace. */
function withPlainName(name: string, text: string): string {
  const plain = (name.split('/')[0] ?? '').replaceAll(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());
  if (!new RegExp(`^export class ${plain}A extends `, 'm').test(text)) return text;
  if (new RegExp(`\\b${plain}\\b`).test(text)) throw new Error(`${name} has both ${plain} and ${plain}A`);
  const [first = '', rest] = [plain[0], plain.slice(1)];
  const names = new RegExp(`\\b([${first}${first.toLowerCase()}])${rest}A(?=[A-Z]|\\b)`, 'g');
  return text.replaceAll(names, `$1${rest}`);
}

/** Quotes keys of maps of objects: `get('eth0')` would become `interfaces[eth0]`, which Terraform refuses. */
function withQuotedKeys(name: string, text: string): string {
  const maps = [...text.matchAll(/extends cdkt[fn]\.ComplexMap\b/g)].length;
  const getter =
    /(get\(key: string\): \w+ \{\s+return new \w+\(this\.terraformResource, this\.terraformAttribute, )key\);/g;
  const found = [...text.matchAll(getter)].length;
  if (found !== maps)
    throw new Error(`${name} has ${maps} maps, but ${found} of them have a get() of the expected form`);
  return maps === 0 ? text : importing('mapKey', text.replaceAll(getter, '$1mapKey(key));'));
}

/** Attributes declared with any type are maps of maps, for which the libraries have no class. */
function withOwnMaps(text: string): string {
  const replaced = text.replaceAll(/new cdkt[fn]\.AnyMap\(/g, 'new StringMapMap(');
  return replaced === text ? text : importing('StringMapMap', replaced);
}

function importing(name: string, text: string): string {
  const firstImport = text.indexOf('import ');
  return `${text.slice(0, firstImport)}import { ${name} } from '../../maps';\n${text.slice(firstImport)}`;
}
