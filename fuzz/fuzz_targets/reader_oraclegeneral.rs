#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ssdlab_fuzz::reader("oraclegeneral:id=512,op=read", data));
