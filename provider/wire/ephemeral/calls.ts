// Combines the four calls of ephemeral resources.
import type { ProviderServer } from '../../framework/server.ts';
import type { TypeTable } from '../answers.ts';
import type { ProviderCall } from '../calls.ts';
import type { Unary } from '../grpc.ts';
import { closeCall } from './close.ts';
import { openCall } from './open.ts';
import { renewCall } from './renew.ts';
import { validateCall } from './validate.ts';

type EphemeralCall = Extract<ProviderCall, `${string}Ephemeral${string}`>;

export const ephemeralCalls = <C>(
  server: ProviderServer<C>,
  types: TypeTable<C>,
): Readonly<Record<EphemeralCall, Unary>> => ({
  ValidateEphemeralResourceConfig: validateCall(server, types),
  OpenEphemeralResource: openCall(server, types),
  RenewEphemeralResource: renewCall(server),
  CloseEphemeralResource: closeCall(server),
});
