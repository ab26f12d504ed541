// The two lines of the CDK for Terraform that bindings are made for: CDKTF, which is archived, and cdktn, which carries it on.
// Their constructs cannot be mixed in one app, so each has bindings of its own. Pure.

export type Flavour = 'cdktf' | 'cdktn';
export const flavours: readonly Flavour[] = ['cdktf', 'cdktn'];

/** What is written by hand is written for CDKTF; cdktn has the same names under another package. */
export const forCdktn = (source: string): string =>
  source
    .replaceAll("'cdktf'", "'cdktn'")
    .replaceAll('gantry/cdktf', 'gantry/cdktn')
    .replace(/^\/\/ /, '// Made from ../cdktf by `npm run generate:bindings`: change it there.\n// ')
    .replaceAll('CDKTF', 'cdktn');
