// The digests that results must have, by size and line. They depend on nothing but the seeds and the
// number of runs, which is the default here.

let expectedDigests: [String: String] = [
  "small · durable commits, 1 writer": "6268e92ea09cb103",
  "small · durable commits, 8 writers": "9202e3eae8357bcf",
  "small · durable commits, 64 writers": "714ec76b1979536b",
  "small · commits, durability none, 1 writer": "fbf34451fe1b9abd",
  "small · durable batches of 100 random rows, JSON": "34ceac3e8181ebc0",
  "small · durable batches of 1000 random rows, JSON": "fc33892c8f390d8b",
  "small · bulk load in key order": "42c3271b8d59f063",
  "small · load in random order": "51e93204736e297",
  "small · random get, 1 reader, CPU": "6794074afe50d884",
  "small · random gets, 2 readers, CPU scaling": "2fd97fa58759411c",
  "small · full scan in key order, CPU": "51e932047369477",
  "small · read beside a durable writer, p50": "4e20",
  "small · disk after load and settle (2.32 MB logical)": "51e932047369477",
  "small · bytes written per 300-byte durable commit": "7d7cde25628cd275",
  "small · replay of the log, v100": "51e932047369477",
  "small · position of a row in its group, CPU": "13db4e8afc0443f1",
  "small · changeset of 10 rows of 1.00 k, CPU": "9006f37f8204d02",
  "small · changeset of 1 rows of 5.00 k, CPU": "2c673aad04c256b2",
  "small · changeset of 10 rows of 5.00 k, CPU": "de3a8cbcceffd540",
  "small · changeset of 1000 rows of 5.00 k, CPU": "43f24517cf7797a3",
  "small · import of flights with an index": "43501a5d0c2a9674",
  "small · as-of snapshot of a random commit": "f5d7679443c87369",
]
