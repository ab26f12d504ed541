// Turns git's error output into a SourceError with its problem and a remedy. Pure.
import { DamagedCopyError, SourceError, type SourceProblem } from '../source.ts';

/** Leaves git's own text out, since it would mislead. */
const isEnough = true;
type Meaning = readonly [sign: RegExp, problem: SourceProblem, say: string, isEnough?: true];

const meanings: readonly Meaning[] = [
  [
    /^(?!.*remote).*(?:No space left on device|Disk quota exceeded|Read-only file system)/m,
    'unavailable',
    'cannot write {folder}: its disk is full, over its quota or read-only; make room there',
  ],
  [
    /Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED/,
    'denied',
    'the host key of the server is not among the known hosts; write it to the file of credentials.knownHostsFile',
  ],
  [
    /Permission denied \(|UNPROTECTED PRIVATE KEY/,
    'denied',
    'the server refuses the key; check credentials.sshKeyFile and its mode (0600)',
  ],
  [
    /could not read Username|could not read Password|terminal prompts disabled/,
    'denied',
    'the server asks for a user name and a password; set credentials.username and credentials.passwordFile of the source, or check the address: some servers ask so for a repository that does not exist',
    isEnough,
  ],
  [
    /Authentication failed|error: 40[13]|HTTP Basic: Access denied/,
    'denied',
    'the server refuses the credentials; check credentials.username and credentials.passwordFile',
  ],
  [
    /SSL certificate problem|server certificate verification failed|certificate verify failed|SSL: no alternative/i,
    'denied',
    'the certificate of the server is not trusted; name its authority in credentials.caFile',
  ],
  [
    /unable to update url base from redirection|error: 30[1278]/,
    'refused',
    'the server redirects to another address, and credentials are not sent there; write the final URL',
  ],
  [
    /dumb http transport/,
    'refused',
    'the server offers the files of the repository only; serve it with git http-backend',
  ],
  [/transport '[^']*' not allowed/, 'refused', 'the server or the URL asks for a protocol that is not allowed'],
  [
    /stale info|non-fast-forward|fetch first|\[rejected\]|failed to update ref|reference already exists|cannot lock ref 'refs\/heads/,
    'conflict',
    'the branch has new commits; read the source again and repeat',
  ],
  [/remote rejected|pre-receive hook declined|protected branch/i, 'denied', 'the server refuses the push'],
  [
    /couldn't find remote ref|not our ref|does not exist|unadvertised object/,
    'not-found',
    'the server does not have it',
  ],
  [/Not a valid object name|not a tree object/, 'not-found', 'the commit does not have it'],
  [
    /[Rr]epository .*not found|does not appear to be a git repository|not a git repository|error: 404/,
    'not-found',
    'there is no such repository, or the credentials may not read it',
  ],
];

interface GitMessageOptions {
  readonly shown: string;
  readonly secrets?: readonly string[];
  /** The user's own repository: remedies about gantry.yaml do not apply, and git's text is enough. */
  readonly isOwn?: boolean;
  /** The first one holds the local copy. */
  readonly folders?: readonly string[];
}

const damage =
  /\.lock|File exists|corrupt|bad object|missing blob|unable to read|shallow|did not send all|index-pack|loose object|bad pack|reference broken/i;
/** The folder that git works in, not the one it asks for. */
const isNoRepository = /not a git repository \(or any/;

const maxShown = 500;

export function explainGit(verb: string, options: GitMessageOptions, stderr: string, code: number): SourceError {
  const [sign, problem = 'unreachable', words = '', isEnoughHere] = meanings.find(([each]) => each.test(stderr)) ?? [];
  const say = words.replace('{folder}', () => options.folders?.[0] ?? 'the local copy');
  const said = lastWords(stderr, options.secrets ?? []);
  const detail = said === '' ? `git ${verb} ended with ${code}` : `git ${verb}: ${said}`;
  const isDamaged = (problem === 'unreachable' && damage.test(said)) || isNoRepository.test(said);
  if (isDamaged && options.isOwn !== true) return new DamagedCopyError('unreachable', `${options.shown}: ${detail}`);
  if (sign === undefined || options.isOwn === true) return new SourceError(problem, `${options.shown}: ${detail}`);
  return new SourceError(problem, `${options.shown}: ${say}${isEnoughHere === true ? '' : ` (${detail})`}`);
}

/** The lines that name the failure, without progress and without secrets. */
function lastWords(stderr: string, secrets: readonly string[]): string {
  const lines = stderr
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter(
      (line) => line !== '' && !/^(remote: )?(Enumerating|Counting|Compressing|Receiving|Resolving|hint:)/.test(line),
    );
  const chosen = lines.filter((line) => /^(fatal|error|remote|ssh|!)|denied|failed/i.test(line)).slice(0, 4);
  const text = (chosen.length > 0 ? chosen : lines.slice(-2)).join('; ');
  return withoutTexts(text, secrets).slice(0, maxShown);
}

/** Removes these texts, and user names and passwords of URLs. */
export function withoutTexts(text: string, secrets: readonly string[]): string {
  const bare = secrets
    .filter((secret) => secret.length > 0)
    .reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
  return bare.replace(/\/\/[^/@\s]+@/g, '//***@');
}
