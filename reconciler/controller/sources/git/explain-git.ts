// PURE: turns what git wrote into a SourceError with its problem and a remedy.
import { DamagedCopyError, SourceError, type SourceProblem } from '../source.ts';

interface Meaning {
  readonly sign: RegExp;
  readonly problem: SourceProblem;
  readonly say: string;
  /** The words of git would only mislead. */
  readonly isEnough?: true;
}

const meanings: readonly Meaning[] = [
  {
    sign: /Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED/,
    problem: 'denied',
    say: 'the host key of the server is not among the known hosts; write it to the file of credentials.knownHostsFile',
  },
  {
    sign: /Permission denied \(|UNPROTECTED PRIVATE KEY/,
    problem: 'denied',
    say: 'the server refuses the key; check credentials.sshKeyFile and its mode (0600)',
  },
  {
    sign: /could not read Username|could not read Password|terminal prompts disabled/,
    problem: 'denied',
    say: 'the server asks for a user name and a password; set credentials.username and credentials.passwordFile of the source, or check the address: some servers ask so for a repository that does not exist',
    isEnough: true,
  },
  {
    sign: /Authentication failed|error: 40[13]|HTTP Basic: Access denied/,
    problem: 'denied',
    say: 'the server refuses the credentials; check credentials.username and credentials.passwordFile',
  },
  {
    sign: /SSL certificate problem|server certificate verification failed|certificate verify failed|SSL: no alternative/i,
    problem: 'denied',
    say: 'the certificate of the server is not trusted; name its authority in credentials.caFile',
  },
  {
    sign: /unable to update url base from redirection|error: 30[1278]/,
    problem: 'refused',
    say: 'the server redirects to another address, and credentials are not sent there; write the final URL',
  },
  {
    sign: /dumb http transport/,
    problem: 'refused',
    say: 'the server offers the files of the repository only; serve it with git http-backend',
  },
  {
    sign: /transport '[^']*' not allowed/,
    problem: 'refused',
    say: 'the server or the URL asks for a protocol that is not allowed',
  },
  {
    sign: /stale info|non-fast-forward|fetch first|\[rejected\]|failed to update ref|reference already exists|cannot lock ref 'refs\/heads/,
    problem: 'conflict',
    say: 'somebody else has pushed since; read the source again and repeat',
  },
  {
    sign: /remote rejected|pre-receive hook declined|protected branch/i,
    problem: 'denied',
    say: 'the server refuses the push',
  },
  {
    sign: /couldn't find remote ref|not our ref|does not exist|unadvertised object/,
    problem: 'not-found',
    say: 'the server does not have it',
  },
  {
    sign: /Not a valid object name|not a tree object/,
    problem: 'not-found',
    say: 'the commit does not have it',
  },
  {
    sign: /[Rr]epository .*not found|does not appear to be a git repository|not a git repository|error: 404/,
    problem: 'not-found',
    say: 'there is no such repository, or the credentials may not read it',
  },
];

interface GitMessageOptions {
  readonly shown: string;
  readonly secrets?: readonly string[];
  /** The remedies of gantry.yaml are none for a repository of the user: git says it all. */
  readonly isOwn?: boolean;
}

const damage =
  /\.lock|File exists|corrupt|bad object|missing blob|unable to read|shallow|did not send all|index-pack|loose object|bad pack/i;

const maxShown = 500;

export function explainGit(verb: string, told: GitMessageOptions, stderr: string, code: number): SourceError {
  const meaning = meanings.find(({ sign }) => sign.test(stderr));
  const said = lastWords(stderr, told.secrets ?? []);
  const detail = said === '' ? `git ${verb} ended with ${code}` : `git ${verb}: ${said}`;
  const problem = meaning?.problem ?? 'unreachable';
  if (problem === 'unreachable' && damage.test(said)) return new DamagedCopyError(problem, `${told.shown}: ${detail}`);
  if (meaning === undefined || told.isOwn === true) return new SourceError(problem, `${told.shown}: ${detail}`);
  return new SourceError(problem, `${told.shown}: ${meaning.say}${meaning.isEnough === true ? '' : ` (${detail})`}`);
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

/** The text without these texts, and without user names and passwords of URLs. */
export function withoutTexts(text: string, secrets: readonly string[]): string {
  const bare = secrets
    .filter((secret) => secret.length > 0)
    .reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
  return bare.replace(/\/\/[^/@\s]+@/g, '//***@');
}
