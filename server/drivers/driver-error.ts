// The errors that drivers of every family throw; services translate them, drivers know no HTTP.

export type DriverErrorCode =
  | 'NotSupported'
  | 'InUse'
  | 'NotFound'
  | 'Exists'
  | 'Invalid'
  | 'Timeout'
  | 'Failed'
  | 'NoSpace';

export class DriverError extends Error {
  override readonly name = 'DriverError';
  readonly code: DriverErrorCode;
  constructor(code: DriverErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}
