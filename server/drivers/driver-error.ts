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

/** Errors by their codes, such as `driverErrors.invalid('it has no name')`. */
export const driverErrors = {
  notSupported: errorOf('NotSupported'),
  inUse: errorOf('InUse'),
  notFound: errorOf('NotFound'),
  exists: errorOf('Exists'),
  invalid: errorOf('Invalid'),
  timeout: errorOf('Timeout'),
  failed: errorOf('Failed'),
  noSpace: errorOf('NoSpace'),
};

function errorOf(code: DriverErrorCode) {
  return (message: string, cause?: unknown): DriverError => new DriverError(code, message, cause);
}
