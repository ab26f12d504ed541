// Decides which repository URLs are accepted, and how they are shown. Pure.
import { type SourceError, sourceErrors } from '../source.ts';

export interface GitUrl {
  /** The URL that git gets. */
  readonly url: string;
  readonly protocol: 'https' | 'http' | 'ssh' | 'file';
  /** The address; user name, password and query are left out. */
  readonly shown: string;
}

const scpLike = /^(?:([A-Za-z0-9_][-A-Za-z0-9_.]*)@)?([A-Za-z0-9][-A-Za-z0-9.]*):(?!\/\/)([^:].*)$/;
const hostName = /^(?:[A-Za-z0-9][-A-Za-z0-9.]*|\[[0-9A-Fa-f:.]+\])$/;
// eslint-disable-next-line no-control-regex
const controls = /[\u0000-\u001f\u007f]/;

export function readGitUrl(text: string): GitUrl {
  if (controls.test(text)) throw invalid(text, 'it holds control characters');
  if (text.startsWith('-')) throw invalid(text, 'it begins with -');
  if (text.includes('::')) throw invalid(text, 'transports of other programs (NAME::...) are not allowed');
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return ofUrl(text);
  if (text.startsWith('/')) return { url: `file://${encodeURI(text)}`, protocol: 'file', shown: `file://${text}` };
  const scp = scpLike.exec(text);
  if (scp === null)
    throw invalid(text, 'write https://HOST/PATH, ssh://USER@HOST/PATH, USER@HOST:PATH or file:///PATH');
  const [, , host = '', path = ''] = scp;
  if (path.startsWith('-')) throw invalid(text, 'its path begins with -');
  return { url: text, protocol: 'ssh', shown: `${host}:${path}` };
}

function ofUrl(text: string): GitUrl {
  let parsed: URL;
  try {
    parsed = new URL(text);
  } catch {
    throw invalid(text, 'it is not a URL');
  }
  const protocol = parsed.protocol.slice(0, -1);
  if (protocol !== 'https' && protocol !== 'http' && protocol !== 'ssh' && protocol !== 'file') {
    throw invalid(text, `${protocol} is not among https, http, ssh and file`);
  }
  if (parsed.password !== '')
    throw invalid(text, 'it holds a password; write it to the file of credentials.passwordFile');
  if (protocol !== 'ssh' && parsed.username !== '') {
    throw invalid(
      text,
      'it holds a user name or token; write it to credentials.username or the file of credentials.passwordFile',
    );
  }
  if (parsed.username.startsWith('-')) throw invalid(text, 'its user name begins with -');
  if (protocol !== 'file' && !hostName.test(parsed.hostname)) throw invalid(text, 'its host name is not valid');
  if (protocol === 'file' && parsed.host !== '') throw invalid(text, 'a file URL has no host: file:///PATH');
  if (parsed.search !== '' || parsed.hash !== '') throw invalid(text, 'it holds a query or a fragment');
  const shown = `${protocol}://${parsed.host}${decodeSafely(parsed.pathname)}`;
  return { url: text, protocol, shown };
}

function decodeSafely(path: string): string {
  try {
    const text = decodeURI(path);
    return controls.test(text) ? path : text;
  } catch {
    return path;
  }
}

/** Leaves out everything before an @, which may hold a password. */
const invalid = (text: string, why: string): SourceError =>
  sourceErrors.refused(`the URL ${JSON.stringify(text.replace(/^([^@]*[/:])?[^@/]*@/, '$1***@'))} is not used: ${why}`);
