// The example of two teams that share a host, with filtered nics, quotas and separate certificates.
import { expectMatch, type Check } from '../check.ts';
import { api } from './shell.ts';

const folder = '/root/lane-teams';

const setting = (address: string): string =>
  `${api} -f -o /dev/null -X PATCH -d '{"config":{"core.https_address":"${address}"}}' http://gantryd/1.0`;

export const teamChecks: readonly Check[] = [
  {
    name: 'two teams with certificates of their own each see and use their project alone',
    async run(host) {
      await host.run(`mkdir ${folder}; cd ${folder}; cp -r /usr/share/doc/gantry/examples/quickstart /usr/share/doc/gantry/examples/teams .
        sh quickstart/build-image.sh; sh teams/make-certificates.sh; cp /var/lib/gantry/server.crt teams/; ${setting('127.0.0.1:8443')}`);
      expectMatch(
        await host.run(`gantry apply -f ${folder}/teams --auto-approve`),
        // The image of the quickstart is the same.
        /Apply complete! 10 added/,
        'apply',
      );
      const text = await host.run(`cd ${folder}; as() { sh teams/as.sh "$@" 2>&1 || true; }
        as red get container -o name; as red get network -o name; as red exec web -- hostname
        as red get container --project blue; as red copy web second`);
      expectMatch(text, /^web\nred0\nweb\n.*project blue was not found\n(.*\n)*.*at most 1/, 'what the red team gets');
      await host.run(
        `gantry destroy -f ${folder}/teams --auto-approve --partial || true; ${setting('')}; rm -r ${folder}`,
      );
    },
  },
];
