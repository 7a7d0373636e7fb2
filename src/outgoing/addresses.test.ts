import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { describe, it } from 'node:test';
import { type AddressClass, classifyAddress, isThisMachine } from './addresses.ts';

const cases: Readonly<Record<AddressClass, readonly string[]>> = {
  public: [
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '169.253.255.255',
    '169.255.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '2606:4700:4700::1111',
    '[2606:4700:4700::1111]',
    '2a00:1450:4001:810::200e',
    '2001:200::1',
    '::ffff:8.8.8.8',
    '::ffff:808:808',
    '0:0:0:0:0:ffff:0808:0808',
    '64:ff9b::8.8.8.8',
    '64:ff9b::808:808',
    '64:ff9b:1::8.8.8.8',
    '2002:808:808::1',
  ],
  private: [
    '10.0.0.0',
    '10.255.255.255',
    '100.64.0.0',
    '100.127.255.255',
    '127.0.0.1',
    '127.255.255.255',
    '172.16.0.0',
    '172.31.255.255',
    '192.168.0.0',
    '192.168.255.255',
    '198.18.0.0',
    '198.19.255.255',
    '::1',
    '[::1]',
    '::1%lo',
    '0:0:0:0:0:0:0:1',
    'fc00::',
    'fd12:3456::1',
    'fdff:ffff::1%eth0',
    'fec0::1',
    'feff::1',
    '::ffff:127.0.0.1',
    '::FFFF:7F00:1',
    '[::ffff:7f00:1]',
    '::ffff:10.0.0.1%eth0',
    '::ffff:100.64.0.1',
    '64:ff9b::10.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::192.168.0.1',
    '2002:7f00:1::',
    '2002:a00:1:2:3:4:5:6',
    '2002:c0a8:1::1',
  ],
  never: [
    '0.0.0.0',
    '0.1.2.3',
    '169.254.0.0',
    '169.254.169.254',
    '192.0.0.8',
    '192.0.2.1',
    '192.88.99.1',
    '198.51.100.7',
    '203.0.113.9',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '100.100.100.200',
    '168.63.129.16',
    '::',
    '::2',
    '::127.0.0.1',
    '::8.8.8.8',
    '::ffff:0:8.8.8.8',
    '100::1',
    '4000::1',
    '5f00::1',
    'fe80::1',
    'fe80::1%eth0',
    'febf::1',
    'ff02::1',
    '2001::1',
    '2001:0:7f00:1::',
    '2001:2::1',
    '2001:10::1',
    '2001:db8::1',
    '3fff::1',
    'fd00:ec2::254',
    'fd20:ce::254',
    '::ffff:169.254.169.254',
    '::ffff:a9fe:a9fe',
    '::ffff:0.0.0.0',
    '::ffff:224.0.0.1',
    '64:ff9b::169.254.169.254',
    '64:ff9b:1::169.254.169.254',
    '64:ff9b:1:a9fe:a9:fe00::8.8.8.8',
    '64:ff9b:1:fffe::10.0.0.1',
    '64:ff9b:2::8.8.8.8',
    '2002:a9fe:a9fe::1',
    '2002:e000:1::1',
    '',
    'localhost',
    '127.1',
    '0x7f.1',
    '0177.0.0.1',
    '2130706433',
    '8.8.8.8%eth0',
    '8.8.8.8/32',
    ' 8.8.8.8',
    '8.8.8.8.',
    '[8.8.8.8',
    '1.2.3.256',
    ':::1',
  ],
};

describe('classifyAddress', () => {
  for (const [expected, addresses] of Object.entries(cases))
    for (const address of addresses)
      it(`takes ${JSON.stringify(address)} as ${expected}`, () => {
        assert.equal(classifyAddress(address), expected);
      });
});

describe('isThisMachine', () => {
  const forms = ['127.0.0.1', '127.255.0.9', '::1', '[::1]', '::1%lo', '::ffff:127.0.0.1', '64:ff9b::7f00:1'];
  for (const address of [...forms, '2002:7f00:1::'])
    it(`knows ${address} as the machine itself`, () => {
      assert.equal(isThisMachine(address), true);
    });
  it('includes the addresses of its interfaces', () => {
    const own = Object.values(networkInterfaces()).flatMap((found) => found ?? []);
    assert.deepEqual(
      own.filter(({ address }) => !isThisMachine(address)),
      [],
    );
    assert.ok(own.length > 0);
  });
  for (const address of ['128.0.0.1', '198.18.77.1', '::2', 'localhost', ''])
    it(`does not take ${JSON.stringify(address)} for it`, () => {
      assert.equal(isThisMachine(address), false);
    });
});
