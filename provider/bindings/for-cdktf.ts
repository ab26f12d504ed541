// Derives the bindings for CDKTF, which is archived, from those for cdktn, its fork. An app cannot mix constructs of the two, so each
// has its own bindings. Pure.
import type { Files } from './adjust.ts';

/** CDKTF's library supports neither ephemeral resources nor provider functions. */
const unsupported = /^generated\/(?:ephemeral-|provider-functions\/)/;

/** Paths are below the folder of a flavour. */
export const filesForCdktf = (cdktn: Files): Files =>
  new Map([...cdktn].filter(([path]) => !unsupported.test(path)).map(([path, text]) => [path, forCdktf(text)]));

/** Turns the output of cdktn's generator into the output of CDKTF's. */
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
