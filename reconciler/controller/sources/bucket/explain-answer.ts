// Explains why an S3 server refused a request: its status alone looks like wrong credentials for most mistakes.
import type { Response } from 'undici';
import { SourceError, type SourceProblem, sourceErrors } from '../source.ts';
import { bodyText } from '../http/download.ts';

const maxAnswer = 64 * 1024;

/** By the code of the answer. */
const known: Readonly<Record<string, readonly [SourceProblem, string]>> = {
  AuthorizationHeaderMalformed: ['refused', 'check region'],
  InvalidAccessKeyId: ['denied', 'check credentials.username'],
  NoSuchBucket: ['not-found', 'check bucket'],
  RequestTimeTooSkewed: ['unreachable', 'the clock of this machine or of the server is wrong'],
  SignatureDoesNotMatch: ['denied', 'check credentials.passwordFile'],
};

/** Undefined when the answer names no reason that is known here. */
export async function explained(
  response: Response,
  { what, host, region }: { readonly what: string; readonly host: string; readonly region: string },
): Promise<SourceError | undefined> {
  const text = (await bodyText(response, maxAnswer, what).catch(() => Buffer.alloc(0))).toString('utf8');
  const there = response.headers.get('x-amz-bucket-region') ?? /<Region>([^<]*)<\/Region>/.exec(text)?.[1] ?? region;
  if (there !== region && /^[-a-z0-9]{1,40}$/.test(there))
    return sourceErrors.refused(`${what}: the bucket is in the region ${there}, not in ${region}: set region`);
  const code = /<Code>(\w{1,60})<\/Code>/.exec(text)?.[1] ?? '';
  const [problem, remedy] = known[code] ?? [];
  return problem === undefined
    ? undefined
    : new SourceError(problem, `${what}: ${host} answered ${response.status} ${code}: ${remedy ?? ''}`);
}
