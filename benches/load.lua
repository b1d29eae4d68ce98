-- The wrk script: `wrk … -s load.lua URL -- METHOD PATH TAG`. Each sign-up has a new address, made of the tag, the
-- thread and a number. The last line of the output has the numbers that server.rs reads.

local threads = 0

function setup(thread)
   thread:set("number", threads)
   threads = threads + 1
end

function init(args)
   method, path, tag = args[1], args[2], args[3]
   sent = 0
   if method == "GET" then
      fixed = wrk.format("GET", path, { ["Accept-Encoding"] = "gzip, deflate, br, zstd" })
   else
      -- All bodies have the same length, so all requests have the same head.
      local request = wrk.format(method, path, { ["Content-Type"] = "application/json" }, body())
      head = request:sub(1, -1 - #body())
   end
end

function body()
   return string.format('{"email":"%s-%d-%08d@example.com"}', tag, number, sent)
end

function request()
   if fixed then return fixed end
   sent = sent + 1
   return head .. body()
end

function done(summary, latency)
   local errors = summary.errors
   local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
   local p50, p99 = latency:percentile(50), latency:percentile(99)
   print("RESULT", summary.requests, summary.duration, p50, p99, failed)
end
