// The reasons that the client recognizes in a server's refusal.
import { expect, test } from 'vitest';
import { isRefused, withMessage } from '../../server/client/client-error.ts';
import { parseReply } from '../../server/client/transport/reply.ts';

const refused = (text: string, what: string): unknown => {
  try {
    return parseReply(400, {}, JSON.stringify({ type: 'error', error: text, error_code: 400, metadata: null }), what);
  } catch (error) {
    return error;
  }
};

test('A refusal is recognized by the text of the server', () => {
  const error = refused('Instance is busy running a "stop" operation', 'PUT /1.0/containers/web/state');
  expect(isRefused(error, 'busy')).toBe(true);
  expect(isRefused(error, 'exists')).toBe(false);
});

test('A refusal of LXD because of an operation that has just ended counts as busy', () => {
  const text =
    'The following instances failed to update (profile change still saved):\n - Project: default, Instance: bare: Failed to create instance update operation: A matching non-reusable operation has now succeeded';
  expect(isRefused(refused(text, 'PUT /1.0/profiles/small'), 'busy')).toBe(true);
});

test('The name of an object in the request does not count as a refusal', () => {
  const error = refused('No such object', 'GET /1.0/containers/busy');
  expect(isRefused(error, 'busy')).toBe(false);
});

test('An error with another message keeps its refusals', () => {
  const error = withMessage(
    refused('The network is currently in use', 'DELETE /1.0/networks/net0'),
    'network/net0 stays',
  );
  expect(error.message).toBe('network/net0 stays');
  expect(isRefused(error, 'inUse')).toBe(true);
});

test('a redirect says where it leads, and that the daemon itself must be named', () => {
  const location = 'https://elsewhere:8443/1.0';
  expect(() => parseReply(307, { location }, '', 'GET /1.0')).toThrow(
    `GET /1.0: the server redirects to ${location}: redirects are not followed; name the address of the daemon itself`,
  );
});
