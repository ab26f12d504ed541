// Terraform and the packaged provider in the machine, with the example of its page.
import { expectMatch, expectSame, type Check } from '../check.ts';
import { extras, mountExtras } from '../extras-disk.ts';
import { initPid } from './shell.ts';

const examples = '/usr/share/doc/gantry/examples';
const folder = '/root/lane-terraform';

/** Runs Terraform on the example, which takes long: a 90 MB program under emulation. */
const terraform = (words: string): string => `cd ${folder}/terraform
  CHECKPOINT_DISABLE=1 GANTRY_ADDRESS=unix:///var/lib/gantry/unix.socket ${extras}/terraform ${words} -no-color -input=false`;

const objects = 'for kind in container network storage_pool image profile; do gantry get $kind -o name; done';

const pids = `for name in web db; do ${initPid('tfdemo-$name')}; done`;

export const terraformChecks: readonly Check[] = [
  {
    name: 'Terraform finds the provider of the package and applies the example: containers run with addresses',
    vital: true,
    async run(host) {
      await host.run(`${mountExtras}; mkdir ${folder}; cp -r ${examples}/quickstart ${examples}/terraform ${folder}
        sh ${folder}/quickstart/build-image.sh; terraform-provider-gantry install; ${objects} >/var/tmp/objects`);
      await host.run(terraform('init'), 300);
      const text = await host.run(terraform('apply -auto-approve'), 600);
      expectMatch(text, /Apply complete! Resources: 7 added/, 'apply');
      expectMatch(text, /"db" = "10\.122\.0\.\d+"\n +"web" = "10\.122\.0\.\d+"/, 'its outputs');
      expectSame(await host.run('gantry exec tfdemo-web -- cat /etc/gantry/role'), 'web', 'the file of a container');
    },
  },
  {
    name: 'the next plan of Terraform is empty',
    async run(host) {
      expectMatch(await host.run(terraform('plan -detailed-exitcode'), 300), /No changes\./, 'plan');
    },
  },
  {
    name: 'Terraform changes the memory of containers while they run',
    async run(host) {
      const before = await host.run(pids);
      const text = await host.run(terraform('apply -auto-approve -var memory=96MiB'), 600);
      expectMatch(text, /0 added, 1 changed, 0 destroyed/, 'apply');
      const limits = 'cat /sys/fs/cgroup/gantry/????????/tfdemo-*/memory.max';
      expectSame(await host.run(limits), '100663296\n100663296', 'the limits');
      expectSame(await host.run(pids), before, 'the processes');
    },
  },
  {
    name: 'Terraform destroys all that it made',
    async run(host) {
      expectMatch(await host.run(terraform('destroy -auto-approve'), 600), /Resources: 7 destroyed/, 'destroy');
      expectSame(await host.run(`${objects} | diff /var/tmp/objects - || true`), '', 'what is left of it');
      await host.run(`rm -r ${folder} ~/.terraform.d /var/tmp/objects`);
    },
  },
];
