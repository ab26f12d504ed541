// Parses the output of gpg and ssh-keygen about a signature. Pure.
import type { Verification } from '../source.ts';

export type SignatureFinding = Verification | { readonly why: string };

const unsigned = 'it is not signed';

/** Reads `gpg --status-fd`. Requires exactly one good signature by a key of the keyring; refuses any second signature. */
export function readGpgStatus(text: string): SignatureFinding {
  const lines = text
    .split('\n')
    .flatMap((line) => (line.startsWith('[GNUPG:] ') ? [line.slice('[GNUPG:] '.length).split(' ')] : []));
  const of = (word: string): readonly string[][] => lines.filter(([first]) => first === word);
  const [bad] = lines.filter(([word = '']) => /^(BADSIG|ERRSIG|EXPSIG|EXPKEYSIG|REVKEYSIG)$/.test(word));
  if (bad !== undefined) return { why: whyBad(bad) };
  const good = of('GOODSIG');
  const valid = of('VALIDSIG');
  if (good.length === 0 && valid.length === 0) return { why: unsigned };
  if (good.length !== 1 || valid.length !== 1 || of('NEWSIG').length > 1)
    return { why: 'it does not hold exactly one valid signature' };
  const [, key = '', ...facts] = valid[0] ?? [];
  const [, , ...name] = good[0] ?? [];
  return { by: 'gpg', key: facts[8] ?? key, signer: name.join(' ') };
}

function whyBad([word = '', keyId = '', ...rest]: readonly string[]): string {
  const names: Readonly<Record<string, string>> = {
    BADSIG: 'its signature does not fit its contents',
    EXPSIG: 'its signature has expired',
    EXPKEYSIG: `the key ${keyId} that signed it has expired`,
    REVKEYSIG: `the key ${keyId} that signed it was revoked`,
  };
  const isUnknown = word === 'ERRSIG' && rest[4] === '9';
  return (
    names[word] ??
    (isUnknown ? `it is signed by the key ${keyId}, which verify.gpg does not hold` : 'its signature cannot be checked')
  );
}

/** Reads the output of `ssh-keygen -Y verify`, as git passes it on. */
export function readSshOutput(text: string): SignatureFinding {
  const good = /^Good "git" signature for (.+) with \S+ key (SHA256:\S+)$/m.exec(text);
  if (good !== null) return { by: 'ssh', key: good[2] ?? '', signer: good[1] ?? '' };
  const known = /^Good "git" signature with \S+ key (SHA256:\S+)/m.exec(text);
  if (known !== null) return { why: `it is signed by the key ${known[1] ?? ''}, which verify.ssh does not hold` };
  return { why: text.trim() === '' ? unsigned : 'its signature is not valid' };
}
