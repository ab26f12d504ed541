// Makes the bindings for CDKTF, which is archived, from those for cdktn, its fork. Constructs of the two cannot be mixed in one app,
// so each has bindings of its own. Pure.
import type { Files } from './adjust.ts';

/** CDKTF's library has neither ephemeral resources nor functions of providers. */
const unsupported = /^generated\/(?:ephemeral-|provider-functions\/)/;

/** Paths are below the folder of a flavour. */
export const filesForCdktf = (cdktn: Files): Files =>
  new Map([...cdktn].filter(([path]) => !unsupported.test(path)).map(([path, text]) => [path, forCdktf(text)]));

/** The changes that turn what cdktn's generator writes into what CDKTF's writes. */
const forCdktf = (text: string): string =>
  text
    .replaceAll('https://cdktn.io/docs/concepts/resources#references', 'https://cdk.tf/complex-object-as-configuration')
    .replaceAll('cdktn', 'cdktf')
    .replaceAll('CDKTN', 'CDKTF')
    .replaceAll(/^export \* as (?:ephemeral|providerFunctions).*\n/gm, '')
    .replaceAll(/^(export \* as \w+ from '\.\/[\w-]+)\/index';$/gm, `$1';`)
    .replaceAll(/^import \{ GantryProviderFunctions \}.*\n/gm, '')
    .replaceAll(/\n  \/\/ =+\n  \/\/ PROVIDER-DEFINED FUNCTIONS\n[^]*?\n  \}\n(?=\n)/g, '')
    .replaceAll(/^  \/\*\*\n  \* @deprecated Write-only: .*\n  \*\/\n/gm, '')
    .replaceAll(/this\.markWriteOnlyAttribute\((.*)\),$/gm, '$1,')
    .replaceAll(/^  constructor\(terraformResource: [^]*?\);$/gm, withProtectedParameters);

const withProtectedParameters = (constructor: string): string =>
  constructor.replaceAll(/\b(?=\w+: )/g, 'protected ').replace(/;$/, '');
