// The reasons why a server cannot be reached, in words.
import { expect, test } from 'vitest';
import { explainUnreachable } from '../../server/client/transport/explain-unreachable.ts';
import { parseEndpoint } from '../../server/client/transport/host-endpoint.ts';

const explained = async (code: string, message: string): Promise<string> => {
  const cause = Object.assign(new Error(message), { code });
  return (await explainUnreachable(parseEndpoint('https://web1'), 'GET /1.0', cause)).message;
};

test.each(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID'])('%s names the clock and both remedies', async (code) => {
  expect(await explained(code, 'certificate has expired')).toMatch(
    /^GET \/1\.0: cannot reach https:\/\/web1:8443: .* not valid now \(certificate has expired; the clock of this machine says \d{4}-.*\): renew it on the server, or correct the clock$/,
  );
});

test('a certificate that nothing vouches for asks for its fingerprint', async () => {
  expect(await explained('DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate')).toContain(
    'is not trusted (self-signed certificate); give its fingerprint',
  );
});
