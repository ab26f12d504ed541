// Status codes and their texts (spec 3.1), and which are final for an operation.

export const statusTexts = {
  100: 'Operation created',
  101: 'Started',
  102: 'Stopped',
  103: 'Running',
  104: 'Cancelling',
  105: 'Pending',
  106: 'Starting',
  107: 'Stopping',
  108: 'Aborting',
  109: 'Freezing',
  110: 'Frozen',
  111: 'Thawed',
  112: 'Error',
  200: 'Success',
  400: 'Failure',
  401: 'Cancelled',
} as const;

export type StatusCode = keyof typeof statusTexts;

export const statusCodes = {
  operationCreated: 100,
  started: 101,
  stopped: 102,
  running: 103,
  cancelling: 104,
  pending: 105,
  starting: 106,
  stopping: 107,
  aborting: 108,
  freezing: 109,
  frozen: 110,
  thawed: 111,
  error: 112,
  success: 200,
  failure: 400,
  cancelled: 401,
} as const satisfies Record<string, StatusCode>;

export function isFinal(code: StatusCode): boolean {
  return code >= 200;
}
